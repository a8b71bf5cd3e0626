"""The section that compares S2-GNN with simpler methods."""

from s2gnn.report.baselines import CONSTANT, OURS, Comparison, Method
from s2gnn.report.elements import Section, counted, listed, percent
from s2gnn.report.figures import comparison_figure
from s2gnn.report.svg import chart
from s2gnn.tables.numbers import number_text

SIGNIFICANT = 0.05


def comparison_section(found: Comparison) -> Section:
    """Compare S2-GNN with simpler methods."""
    ours, *others = found.methods
    simpler = [method for method in others if method.name != CONSTANT]
    trivial = next(method for method in others if method.name == CONSTANT)
    measure, labels, spreading, constant = (
        ("Accuracy", "hidden label", "sees the graph, without the columns", "the most frequent class")
        if found.classifies
        else ("Mean absolute error", "hidden value", "averages known values along the graph", "the median")
    )
    form = percent if found.classifies else number_text
    scores = ", ".join(f"{method.name} {form(method.score)}" for method in found.methods)
    finding = f"{measure} on the same {counted(found.n, labels)}: {scores}."
    results: dict[str, list[str]] = {"better": [], "worse": [], "level": []}

    def ahead(one: Method, other: Method) -> bool:
        return one.score > other.score if found.classifies else one.score < other.score

    for method in simpler:
        decided = method.p is not None and method.p < SIGNIFICANT
        results["level" if not decided else "better" if ahead(ours, method) else "worse"].append(method.name)
    better, worse, level = results.values()
    key = "no clear difference"
    if better:
        finding += f" {OURS} is significantly better than {listed(better)}."
        key = f"better than {len(better)} of {len(simpler)} methods" if level else f"beats all {len(better)}"
    if worse:
        finding += f" It is significantly worse than {listed(worse)}: use the simpler method."
        key = "a simpler method wins"
    if level == [method.name for method in simpler if ahead(method, ours)] and not better and not worse:
        finding += " Every simpler method scores higher; the differences may be due to chance."
    elif level:
        finding += f" The difference from {listed(level)} may be due to chance."
    always = f"always predicting {constant}"
    if not ahead(ours, trivial):
        finding += f" {OURS} is not better than {always}."
        key = "no better than a constant"
    elif trivial.p is not None and trivial.p >= SIGNIFICANT:
        finding += f" The lead over {always} may be due to chance."
    reading = (
        f"Points are scores, lines are 95 % intervals{'' if found.classifies else '; further left is better'}. Linear "
        f"model, forest and k-NN see the labelled rows only, without the graph; label spreading {spreading}; the "
        f"constant prediction is {constant}. All use scikit-learn’s default parameters."
    )
    header = ("method", measure.lower(), "95 % interval", "p-value")
    rows = [
        (
            method.name,
            form(method.score),
            f"{form(method.low)} to {form(method.high)}",
            "–" if method.p is None else "below 0.001" if method.p < 0.001 else f"{method.p:.2g}",
        )
        for method in found.methods
    ]
    description = "Chart of the score of every method with its interval"
    figure = chart(comparison_figure(found), "comparison", description, header, rows)
    return Section("comparison", "Is it better than simpler methods?", key, finding, reading, figure)
