"""What the networks use, depend on and were trained for in words, and how to read the pictures of it."""

from collections.abc import Sequence

import numpy as np

from s2gnn.analysis import EdgeNoise
from s2gnn.estimator.stability import effects, limits, robustness
from s2gnn.report.content import Content
from s2gnn.report.figures import noise_strength
from s2gnn.report.words import SPACE, Words, listed, percent

SETTLED = 0.05
EARLY = 5  # steps: whoever is best before has hardly learned
HALF = 0.5  # of the number of edges
WEIGHTS = EdgeNoise("weights", 10.0)  # the moderate noise on them


def of_orders(content: Content) -> Words:
    """Which Hadamard orders the model uses."""
    shares = content.orders.mean(axis=0)
    top = int(shares.argmax())
    fair = 1 / len(shares)
    weights = content.subject.estimator.graph_.to_scipy().data
    if len(shares) > 2 and len(weights) and np.ptp(weights) == 0:
        itself, around = percent(float(shares[0])), percent(float(shares[1:].sum()))
        return Words(
            f"neighbours, {around}",
            f"Of its weight, {itself} lies on the row itself (order 0) and {around} on its neighbours (orders 1 and "
            "above). All edges of this graph have the same weight, so that these orders see the same.",
            "Order 0 is the row by itself, order 1 the mean of its neighbours. The bars show the weight that each "
            "order was given, not how good it is.",
        )
    said = (
        f"Of its weight, {percent(float(shares[0]))} lies on the row itself (order 0), "
        f"{percent(float(shares[1]))} on all its neighbours (order 1)"
    )
    if len(shares) > 2:
        said += f" and {percent(float(shares[2:].sum()))} on orders that favour its strongest edges (2 and above)"
    if float(np.abs(shares - fair).max()) < fair / 2:
        equal = [fair, fair, *[1 - 2 * fair] * (len(shares) > 2)]
        key = "no order stands out"
        verdict = f"with equal shares it would be {listed([percent(share) for share in equal])}, so {key}"
    else:
        key, verdict = f"order {top} most", f"most lies on order {top}, {percent(float(shares[top]))}"
    return Words(
        key,
        f"{said}; {verdict}.",
        "Order 0 is the row by itself, order 1 the mean of its neighbours. With each order above, strong edges count "
        "more and weak ones less. The bars show the weight that each order was given, not how good it is.",
    )


def of_noise(content: Content) -> Words:
    """How robust the model is to edges that are wrong."""
    found = content.stability
    if found is None:
        return Words(
            "not measured",
            "The graph has no edges, or all answers are the same.",
            "Otherwise it would be shown here how the answers change when edges are wrong.",
        )
    shown = effects(found)
    dropped, added = shown[EdgeNoise("dropped", 0.1)], shown.get(EdgeNoise("added", 0.1))
    half = max(effect for noise, effect in shown.items() if noise.kind != "weights" and noise.level == HALF)
    strength = noise_strength(WEIGHTS.kind, WEIGHTS.level)
    change = (
        "the answers move by {:.1f}{}% of their spread" if found.flips is None else "{:.1f}{}% of the answers change"
    )
    by = "by " if found.flips is None else ""
    said = f"With a tenth of the edges removed, {change.format(dropped, SPACE)}"
    said += "" if added is None else f"; with as many wrong ones added, {by}{added:.1f}{SPACE}%"
    said += f"; with half as many as there are, {by}up to {half:.1f}{SPACE}%"
    said += f"; with weights changed by {strength:.0f}{SPACE}%, {by}{shown[WEIGHTS]:.1f}{SPACE}%."
    key, _ = robustness(found)
    verdict = {
        "robust": "It does not matter if some edges are wrong",
        "fairly robust": "It matters little if some edges are wrong",
        "sensitive": "It matters that the edges are right",
    }[key]
    if added is not None and added > max(2 * dropped, limits(found)[0]):
        verdict += ", and wrong edges do more harm than missing ones"
    return Words(
        key,
        f"{said} {verdict}.",
        "The model stays as it is while edges are removed, added between rows drawn at random, or changed in weight. "
        "The lower the line, the less harm it does; shaded is the range over several draws.",
    )


def of_training(content: Content) -> Words:
    """Whether training had come to rest."""
    histories = content.subject.estimator.history_
    kept = content.subject.estimator._trained_.networks.kept_epochs
    first = float(np.mean([history.train_loss[0] for history in histories]))
    last = float(np.mean([history.train_loss[-1] for history in histories]))
    steps = sorted({len(history.train_loss) for history in histories})
    took = f"{steps[0]:,}" if len(steps) == 1 else f"{steps[0]:,} to {steps[-1]:,}"
    networks = (
        "One network was" if len(histories) == 1 else f"{len(histories)} networks, whose answers are averaged, were"
    )
    fell = f"the loss on the labels they learn from fell from {first:.2g} to {last:.2g}"
    said = f"{networks} trained for {took} steps; {fell}."
    if any(history.val_loss for history in histories):
        chosen = ", ".join(str(epoch + 1) for epoch in kept)
        said += f" Kept is the step with the lowest loss on labels held out ({chosen})."
        if min(kept) < EARLY:
            said += " That is very early: the labels held out may be too few to choose by."
        reading = (
            "The loss measures how far answers are from labels. Both lines should fall; where the one for labels held "
            "out begins to rise, a network learns its own labels by heart, and training is stopped."
        )
    else:
        falling = np.mean([_still_falling(history.train_loss) for history in histories]) > SETTLED
        rest = "was still falling at the end: more steps may help" if falling else "had come to rest by then"
        said += f" There are too few labels to hold some out for choosing the step; the loss {rest}."
        reading = (
            "The loss measures how far answers are from labels; it should fall and come to rest. Each thin line is a "
            "network, the thick one their mean."
        )
        if content.subject.estimator.networks_[0].config.dropout > 0:
            reading += " They are rough because parts of a network are switched off at random while it learns."
    return Words(f"{took} steps", said, reading)


def _still_falling(losses: Sequence[float]) -> float:
    """How far the loss falls in the last tenth of the steps, relative to all that it fell."""
    tenth = max(1, len(losses) // 10)
    before, after = float(np.mean(losses[-2 * tenth : -tenth] or losses[:1])), float(np.mean(losses[-tenth:]))
    return (before - after) / max(losses[0] - after, 1e-12)
