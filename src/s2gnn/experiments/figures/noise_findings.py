"""Findings of the study of noisy edges: accuracy lost by every model, and how S2-GNN uses its branches."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from s2gnn.analysis import EdgeNoise
from s2gnn.analysis.branches import shares
from s2gnn.experiments.appearance import display_name
from s2gnn.experiments.compare import CORRECTED, Tally, counted, span
from s2gnn.experiments.measured import Content, Row
from s2gnn.experiments.table_scores import OURS
from s2gnn.learning.metrics import compare_paired

# The MLP sees no graph and is the reference.
REFERENCE = "mlp"
# S2-GNN with published hyperparameters, which have several powers; the search may find that one is enough.
PUBLISHED = "s2gnn-published"
# The models of the study, with their names for people.
MODELS: Mapping[str, str] = MappingProxyType(
    {
        model: display_name(model)
        for model in (
            OURS, PUBLISHED, "gcn", "cheby", "sgc", "sign", "clustergcn", "gat", "supergat", "transformer", "gatv2",
            REFERENCE,
        )
    }
)  # fmt: skip
# Of the levels of noise, the one with the most edges that are wrong.
ADDED = EdgeNoise("added", 0.5)


def measured_rows(content: Content) -> dict[tuple[str, str], Row]:
    """Return the rows by data set and model."""
    return {(row["data"], row["model"]): row for row in content["rows"]}


def measured_together(content: Content) -> tuple[list[str], list[str]]:
    """Return the data sets that S2-GNN has, and the models that have all of them, S2-GNN among them."""
    rows = measured_rows(content)
    data = [name for name, model in rows if model == OURS]
    return data, [model for model in MODELS if data and all((name, model) in rows for name in data)]


def strongest(content: Content) -> list[EdgeNoise]:
    """Return the strongest noise of each kind: the lowest ratio, and the largest shares."""
    noises = [EdgeNoise(noise["kind"], noise["level"]) for noise in content["rows"][0]["noises"]]
    by_kind: dict[str, EdgeNoise] = {}
    for noise in noises:
        known = by_kind.setdefault(noise.kind, noise)
        stronger = noise.level < known.level if noise.kind == "weights" else noise.level > known.level
        by_kind[noise.kind] = noise if stronger else known
    return list(by_kind.values())


def accuracies(row: Row) -> NDArray[np.float64]:
    """Return the accuracies of all networks on the graph without noise, in %, (networks,)."""
    clean: NDArray[np.float64] = 100 * np.array(row["clean"])
    return clean


def points_lost(row: Row, noise: EdgeNoise) -> NDArray[np.float64]:
    """Return points of accuracy that every network loses under a noise, mean over draws, (networks,)."""
    found = next(of for of in row["noises"] if (of["kind"], of["level"]) == (noise.kind, noise.level))
    lost: NDArray[np.float64] = accuracies(row) - 100 * np.mean(found["accuracies"], axis=1)
    return lost


def ignores_graph(row: Row) -> bool:
    """Return whether no noise changes any output, as with a Chebyshev filter of order K = 1."""
    return not any(np.any(noise["changes"]) for noise in row["noises"])


def mean_lost(content: Content, noise: EdgeNoise) -> dict[str, float]:
    """Return points lost by S2-GNN and the baselines with a graph, mean over `measured_together`, the least first."""
    rows, (data, models) = measured_rows(content), measured_together(content)
    baselines = [model for model in models if model not in (PUBLISHED, REFERENCE)]
    compared = [model for model in baselines if not all(ignores_graph(rows[name, model]) for name in data)]
    lost = {model: float(np.mean([points_lost(rows[d, model], noise).mean() for d in data])) for model in compared}
    return dict(sorted(lost.items(), key=lambda item: item[1]))


def contribution_shares(row: Row, noise: EdgeNoise | None, trained: bool = False) -> NDArray[np.float64]:
    """Return the shares (α + 1,) of S2-GNN's branches in what they contribute, mean over layers and networks.

    Args:
        row: of `PUBLISHED`.
        noise: of the graph that it predicts on; `None` for none.
        trained: whether it was also trained on that graph.
    """
    contributions = np.array(_branch_entry(row, noise, trained)["contributions"])  # (networks, layers, alpha + 1)
    means: NDArray[np.float64] = shares(contributions).mean(axis=(0, 1))
    return means


def points_lost_without(row: Row, noise: EdgeNoise | None) -> NDArray[np.float64]:
    """Return points that S2-GNN loses without branch ρ on a graph with `noise`, (α + 1,), mean over networks."""
    whole = accuracies(row).mean() - (0 if noise is None else points_lost(row, noise).mean())
    lost: NDArray[np.float64] = whole - 100 * np.mean(_branch_entry(row, noise)["without"], axis=0)
    return lost


def _branch_entry(row: Row, noise: EdgeNoise | None, trained: bool = False) -> Row:
    wanted = (None, None) if noise is None else (noise.kind, noise.level)
    entries: list[Row] = row["trained_on" if trained else "branches"]
    return next(entry for entry in entries if (entry["kind"], entry["level"]) == wanted)


def mean_power(shares_of_branches: NDArray[np.float64]) -> float:
    """Return the mean power ρ of the branches that see the graph, weighted by their shares (α + 1,)."""
    graph = shares_of_branches[1:]
    return float(np.arange(1, len(graph) + 1) @ graph / graph.sum())


def findings(content: Content) -> Iterator[str]:
    """Yield one sentence each on the losses, whether the graph still helps, and the branches of S2-GNN."""
    _, models = measured_together(content)
    for noise in strongest(content):
        lost = mean_lost(content, noise)
        if len(lost) > 2:
            yield _losses(content, noise, lost)
    rows = [row for row in content["rows"] if row["model"] != REFERENCE and ignores_graph(row)]
    if rows:
        ignoring = ", ".join(f"{MODELS[row['model']]} on {display_name(row['data'])}" for row in rows)
        yield f"With their hyperparameters these ignore the graph and lose nothing: {ignoring}."
    if REFERENCE in models:
        yield _still_better(content)
    published = [row for (_, model), row in measured_rows(content).items() if model == PUBLISHED]
    if published:
        yield _contributions(published)
        yield _ablations(published)


def _losses(content: Content, noise: EdgeNoise, lost: Mapping[str, float]) -> str:
    data, _ = measured_together(content)
    least, *_, most = (model for model in lost if model != OURS)
    return (
        f"With noise on the edges ({noise.label}) S2-GNN loses {lost[OURS]:.2f} points on average over "
        f"{counted([len(data)], 'data set')}, rank {list(lost).index(OURS) + 1} of {len(lost)} models that use the "
        f"graph. Of the others, {MODELS[least]} loses the least ({lost[least]:.2f}) and {MODELS[most]} the most "
        f"({lost[most]:.2f})."
    )


def _still_better(content: Content) -> str:
    """Return how often under the strongest noises a model with a graph is still more accurate than the MLP.

    The networks of two models are paired by their training seed.
    """
    rows, (data, models) = measured_rows(content), measured_together(content)
    cases = [(name, noise) for name in data for noise in strongest(content)]
    compared = [model for model in models if model not in (PUBLISHED, REFERENCE)]

    def by_seed(values: NDArray[np.float64]) -> dict[int, float]:
        return dict(zip(content["training_seeds"], values.tolist(), strict=True))

    tally = Tally.of(
        {
            (model, name, noise): compare_paired(
                by_seed(accuracies(rows[name, model]) - points_lost(rows[name, model], noise)),
                by_seed(accuracies(rows[name, REFERENCE])),
            )
            for model in compared
            for name, noise in cases
        }
    )
    higher = sum(lead.mean_difference > 0 for (model, *_), lead in tally.leads.items() if model == OURS)
    counts = {model: sum(model == other for other, *_ in tally.where("ahead")) for model in compared}
    text = (
        "Under the strongest noises the mean accuracy of S2-GNN is higher than that of the MLP, which sees no graph, "
        f"in {higher} of {len(cases)} cases, significantly in {counts.pop(OURS)} (paired t-tests, {CORRECTED})"
    )
    if not counts:
        return f"{text}."
    best = max(counts.values())
    if not best:
        return f"{text}; of the other models with the same data sets, none is significantly ahead in any."
    names = ", ".join(MODELS[model] for model, count in counts.items() if count == best)
    return f"{text}; of the other models with the same data sets, {names} in {best}, the most."


def _contributions(rows: Sequence[Row]) -> str:
    states: dict[str, tuple[EdgeNoise | None, bool]] = {
        "without noise": (None, False),
        f"with {ADDED.label}": (ADDED, False),
        "after training on such a graph": (ADDED, True),
    }
    found = {state: [contribution_shares(row, *of) for row in rows] for state, of in states.items()}
    identity = ", ".join(f"{100 * np.mean([one[0] for one in of]):.0f} % {state}" for state, of in found.items())
    power = ", ".join(f"{np.mean([mean_power(one) for one in of]):.2f} {state}" for state, of in found.items())
    return (
        "With published hyperparameters, the branch of S2-GNN that ignores the graph has this share of what the "
        f"branches contribute, mean over {counted([len(rows)], 'data set')}: {identity}. The mean power ρ of the "
        f"other branches is {power}."
    )


def _ablations(rows: Sequence[Row]) -> str:
    texts = []
    for state, noise in (("without noise", None), (f"with {ADDED.label}", ADDED)):
        lost = [points_lost_without(row, noise) for row in rows]
        identity, powers = [of[0] for of in lost], [of[1:].max() for of in lost]
        texts.append(
            f"{state} the identity branch costs {span(identity, '.1f')} points and the most important power "
            f"{span(powers, '.1f')}"
        )
    return f"Removed from all layers of these networks, {'; '.join(texts)}."
