"""The sections on the networks: robustness to edge noise, weights of the branches, and training."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from s2gnn.analysis import NoiseStability
from s2gnn.estimator.stability import FEWEST_EDGES, effects, robustness, verdict
from s2gnn.report.elements import Section, listed, percent
from s2gnn.report.figures import NOISES, branches_figure, loss_figure, noise_figure, noise_strength
from s2gnn.report.model import ReportedModel
from s2gnn.report.svg import chart, inline_svg

CONVERGED = 0.05  # share of the total decrease of the loss in the last tenth of the epochs
EARLY = 5  # epochs; a network that is best before has hardly learned


def noise_section(found: NoiseStability | None) -> Section:
    """Return how robust the model is to wrong edges."""
    name = ("noise", "How robust is it to wrong edges?")
    if found is None:
        why = f"The graph has fewer than {FEWEST_EDGES} edges, or all predictions are equal."
        reading = "Otherwise this section would show how predictions change when edges are wrong."
        return Section(*name, "not measured", why, reading, specialist=True)
    reading = (
        "The trained model is kept while edges are removed, random edges are added, or weights are changed. Lower "
        "lines are better; the shaded areas show the range over several random draws."
    )
    description = "Chart of the predictions that change over the strength of edge noise"
    header = ("noise", "strength", "change (of the spread)" if found.flips is None else "predictions changed")
    rows = [
        (NOISES[noise.kind], f"{noise_strength(noise.kind, noise.level):.0f} %", f"{effect:.1f} %")
        for noise, effect in effects(found).items()
    ]
    figure = chart(noise_figure(found), "noise", description, header, rows)
    return Section(*name, robustness(found)[0], verdict(found), reading, figure, specialist=True)


def branches_section(shares: NDArray[np.float64], *, equal_weights: bool) -> Section:
    """Return which branches the networks use.

    Args:
        shares: of each branch in each layer, (layers, α + 1).
        equal_weights: all edges of the graph have the same weight.
    """
    key, finding, higher = _branch_texts(shares.mean(axis=0).tolist(), equal_weights)
    reading = (
        f"Branch 0 sees the row itself, branch 1 the mean of its neighbours. {higher}The bars show the weight that the "
        "networks learned for each branch, not how good it is."
    )
    description = "Chart of the share of the weight that each branch has in each layer"
    header = ("branch", *(f"layer {layer + 1}" for layer in range(len(shares))))
    rows = [(str(branch), *map(percent, by_layer)) for branch, by_layer in enumerate(shares.T.tolist())]
    figure = chart(branches_figure(shares), "branches", description, header, rows)
    return Section("branches", "Which branches do its networks use?", key, finding, reading, figure, specialist=True)


def _branch_texts(shares: list[float], equal_weights: bool) -> tuple[str, str, str]:
    """Return key, finding, and how to read the branches above the first, for the mean `shares` over the layers."""
    row_itself = f"{percent(shares[0])} of the weight is on the row itself (branch 0)"
    if equal_weights and len(shares) > 2:
        neighbours = percent(sum(shares[1:]))
        finding = (
            f"{row_itself} and {neighbours} on its neighbours (branches 1 and above). All edges of this graph have the "
            "same weight, so these branches see the same."
        )
        return f"neighbours, {neighbours}", finding, ""
    parts = [row_itself, f"{percent(shares[1])} on all its neighbours (branch 1)"]
    if len(shares) > 2:
        parts.append(f"{percent(sum(shares[2:]))} on branches that favour its strongest edges (2 and above)")
    equal, top = 1 / len(shares), int(np.argmax(shares))
    key = f"mostly branch {top}" if shares[top] > 0.5 else f"branch {top} most, {percent(shares[top])}"
    verdict = f"branch {top} has the largest share, {percent(shares[top])}"
    if max(abs(share - equal) for share in shares) < equal / 2:
        key = "no branch stands out"
        expected = [equal, equal, *[1 - 2 * equal] * (len(shares) > 2)]
        verdict = f"equal shares would be {listed([percent(share) for share in expected])}, so {key}"
    return key, f"{listed(parts)}; {verdict}.", "In each higher branch, strong edges count more and weak ones less. "


def training_section(model: ReportedModel) -> Section:
    """Return whether training converged."""
    histories, kept_epochs = model.estimator.history_, model.estimator.kept_epochs_
    first, last = (float(np.mean([history.train_loss[end] for history in histories])) for end in (0, -1))
    lengths = sorted({len(history.train_loss) for history in histories})
    epochs = f"{lengths[0]:,}" if len(lengths) == 1 else f"{lengths[0]:,} to {lengths[-1]:,}"
    networks = (
        "One network was" if len(histories) == 1 else f"{len(histories)} networks, whose predictions are averaged, were"
    )
    finding = f"{networks} trained for {epochs} epochs; the training loss fell from {first:.2g} to {last:.2g}."
    reading = "The loss measures how far predictions are from labels. "
    if any(history.val_loss for history in histories):
        chosen = ", ".join(str(epoch + 1) for epoch in kept_epochs)
        finding += f" The epoch with the lowest validation loss is kept ({chosen})."
        if min(kept_epochs) < EARLY:
            finding += " That is very early: there may be too few validation labels to choose by."
        reading += "Both lines should fall; where the validation loss rises, a network overfits, and training stops."
    else:
        falling = np.mean([_late_decrease(history.train_loss) for history in histories]) > CONVERGED
        state = "was still falling at the end: more epochs may help" if falling else "had converged"
        finding += f" There are too few labels for a validation set; the loss {state}."
        reading += "It should fall and level off. Thin lines are single networks, the thick line is their mean."
        if model.estimator.networks_[0].config.dropout > 0:
            reading += " Dropout makes them noisy."
    figure = inline_svg(loss_figure(histories, kept_epochs), "curves", "Chart of the loss over the epochs of training")
    name = ("training", "How were its networks trained?")
    return Section(*name, f"{epochs} epochs", finding, reading, figure, specialist=True)


def _late_decrease(losses: Sequence[float]) -> float:
    """Return the decrease of the loss in the last tenth of the epochs, relative to its whole decrease."""
    tenth = max(1, len(losses) // 10)
    before, after = float(np.mean(losses[-2 * tenth : -tenth] or losses[:1])), float(np.mean(losses[-tenth:]))
    return (before - after) / max(losses[0] - after, 1e-12)
