"""The table of the study of noisy edges: models × data sets under the strongest noises, and S2-GNN's branches."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from s2gnn.analysis import EdgeNoise
from s2gnn.experiments.appearance import display_name
from s2gnn.experiments.compare import DASH
from s2gnn.experiments.figures.noise_findings import (
    ADDED,
    MODELS,
    PUBLISHED,
    REFERENCE,
    accuracies,
    contribution_shares,
    findings,
    ignores_graph,
    mean_power,
    measured_rows,
    points_lost,
    points_lost_without,
    strongest,
)
from s2gnn.experiments.measured import Content, Row, block
from s2gnn.render import Block, Cell, Table

_MARKED = 2


def tabulate_robustness(content: Content) -> Table:
    """Return a block for each kind of noise, then four on S2-GNN, most of them on its branches."""
    rows = measured_rows(content)
    data = list(dict.fromkeys(name for name, _ in rows))
    noises = strongest(content)
    blocks = [
        _model_block("Accuracy without noise (%)", rows, data, accuracies, highest=True),
        *(
            _model_block(f"Points lost: {noise.label}", rows, data, partial(points_lost, noise=noise), highest=False)
            for noise in noises
        ),
        *_branch_blocks(rows, data, noises),
    ]
    missing = len(MODELS) * len(data) - len(rows)
    note = (
        f"Mean ± standard deviation over {len(content['training_seeds'])} networks, each the mean over "
        f"{len(content['noise_seeds'])} draws of the noise, the same for all models; accuracy on the test nodes of "
        "k-NN graphs. The best and the second best of the models that use the graph are marked; the second row of "
        f"S2-GNN is not ranked. Networks are trained without noise (protocol {content['protocol']}) and not retrained, "
        f"with these hyperparameters: {_sources(content)}. Weights are perturbed by E of the paper's "
        "set P with ratio ‖A‖ / ‖E‖. The contribution of a branch is the norm of the change of the fused output when "
        "it is set to zero; shares are means over layers. The mean power weighs the branches that see the graph by "
        "their shares."
    )
    left = (f"{missing} of {len(MODELS) * len(data)} cells are not measured yet.",) if missing else ()
    return Table("", ("", *map(display_name, data), "mean"), tuple(blocks), (*findings(content), *left, note))


def _sources(content: Content) -> str:
    """Return the source of the hyperparameters of all models on each data set."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in content["rows"]:
        found.setdefault((row["source"], display_name(row["data"])), []).append(MODELS[row["model"]].replace(",", ""))
    return "; ".join(
        f"{f'search of budget {source}' if source == content['budget'] else source} on {data}: {', '.join(models)}"
        for (source, data), models in found.items()
    )


def _model_block(
    heading: str,
    rows: dict[tuple[str, str], Row],
    data: list[str],
    values: Callable[[Row], NDArray[np.float64]],
    *,
    highest: bool,
) -> Block:
    found = {key: values(row) for key, row in rows.items()}
    sign = -1 if highest else 1
    marks: dict[tuple[str, str], int] = {}
    for name in data:
        own = {model: sign * of.mean() for (of_data, model), of in found.items() if of_data == name}
        using = {model for model in own.keys() - {PUBLISHED, REFERENCE} if not ignores_graph(rows[name, model])}
        ranked = sorted(using, key=lambda model: own[model])
        if len(ranked) > _MARKED:
            marks |= {(name, model): place for place, model in enumerate(ranked[:_MARKED], 1)}
    lines = []
    for model, title in MODELS.items():
        known = [(name, model) for name in data if (name, model) in found]
        if not known:
            continue
        cells = [
            Cell(f"{found[key].mean():z.2f} ± {found[key].std():.2f}", marks.get(key)) if key in found else DASH
            for key in ((name, model) for name in data)
        ]
        mean = f"{np.mean([found[key].mean() for key in known]):z.2f}" if len(known) == len(data) else DASH
        lines.append([title, *cells, mean])
    return block(heading, lines)


def _branch_blocks(rows: dict[tuple[str, str], Row], data: list[str], noises: list[EdgeNoise]) -> Iterator[Block]:
    published = {name: rows[name, PUBLISHED] for name in data if (name, PUBLISHED) in rows}
    if not published:
        return
    states: dict[str, tuple[EdgeNoise | None, bool]] = {"no noise": (None, False)}
    states |= {noise.label: (noise, False) for noise in noises}
    trained_on = [EdgeNoise(of["kind"], of["level"]) for of in next(iter(published.values()))["trained_on"]]
    states |= {f"trained with {noise.label}": (noise, True) for noise in trained_on}
    shares = {(s, d): contribution_shares(row, *of) for s, of in states.items() for d, row in published.items()}
    heading = "S2-GNN, published:"
    identity = {key: 100 * float(of[0]) for key, of in shares.items()}
    yield _branch_block(f"{heading} share of the identity branch (%)", data, identity, ".1f")
    powers = {key: mean_power(of) for key, of in shares.items()}
    yield _branch_block(f"{heading} mean power ρ of the other branches", data, powers, ".2f")
    trained = {
        (f"trained with {noise.label}", name): 100 * float(np.mean(row["trained_on"][place]["accuracies"]))
        for place, noise in enumerate(trained_on)
        for name, row in published.items()
    }
    yield _branch_block(f"{heading} accuracy on the noisy graph (%)", data, trained, ".2f")
    lost: dict[tuple[str, str], float] = {}
    for state, noise in (("no noise", None), (ADDED.label, ADDED)):
        for name, row in published.items():
            without = points_lost_without(row, noise)
            lost[f"identity, {state}", name] = float(without[0])
            lost[f"most important power, {state}", name] = float(without[1:].max())
    yield _branch_block(f"{heading} points lost without a branch", data, lost, ".2f")


def _branch_block(heading: str, data: list[str], found: dict[tuple[str, str], float], form: str) -> Block:
    lines = []
    for title in dict.fromkeys(title for title, _ in found):
        known = [found[title, name] for name in data if (title, name) in found]
        mean = f"{np.mean(known):{form}}" if len(known) == len(data) else DASH
        cells = [f"{found[title, name]:{form}}" if (title, name) in found else DASH for name in data]
        lines.append([title, *cells, mean])
    return block(heading, lines)
