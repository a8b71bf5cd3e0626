"""The report as one HTML page."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from s2gnn.analysis import NoiseStability, branch_shares
from s2gnn.estimator.explanation import Explanation
from s2gnn.estimator.stability import FEWEST_EDGES, estimator_stability
from s2gnn.files import write_atomically
from s2gnn.progress import progress_bar
from s2gnn.report.accuracy_sections import accuracy_section
from s2gnn.report.baselines import Comparison, compare
from s2gnn.report.calibration_section import calibration_bins, calibration_section, uncalibrated_bins
from s2gnn.report.comparison_section import comparison_section
from s2gnn.report.data_sections import data_section, graph_section, labelling_section, row_values, summary
from s2gnn.report.elements import Section, counted, escaped, listed, shortened
from s2gnn.report.explanation_section import explain_rows, explanation_section, in_words
from s2gnn.report.graph_layout import GraphLayout, lay_out
from s2gnn.report.model import ReportedModel, load_model
from s2gnn.report.network_sections import branches_section, noise_section, training_section
from s2gnn.report.predictions_section import listed_rows, predictions_section
from s2gnn.report.svg import palette_css
from s2gnn.webpage import webpage

# One draw of every noise costs one prediction of all rows per noise: fewer draws for large tables.
MAX_ROWS_FOR_DRAWS = {5: 5_000, 2: 50_000}
_HERE = Path(__file__).parent


def write_report(folder: str | Path, path: str | Path, *, progress: bool = False) -> tuple[Section, ...]:
    """Measure the model in `folder` and write a self-contained page about it to `path`.

    Args:
        folder: written by `s2gnn fit` or `save_estimator`.
        path: path of the page.
        progress: show a progress bar.

    Returns:
        The sections of the page.

    Raises:
        InputError: if the folder does not contain a model, or its files are damaged.
    """
    model = load_model(Path(folder))
    with progress_bar("measuring the model", shown=progress) as show:
        layout = model_layout(model)
        show(0.2)
        comparison = compare(model, lambda share: show(0.2 + 0.3 * share))
        explained = explain_rows(model, lambda share: show(0.5 + 0.2 * share))
        stability = edge_stability(model, lambda share: show(0.7 + 0.3 * share))
    sections = report_sections(model, layout, comparison, explained, stability)
    write_atomically(path, report_page(model, layout, sections).encode())
    return sections


def model_layout(model: ReportedModel) -> GraphLayout:
    """Return the layout of the model's graph; a sample of its rows includes those to label next, then labelled ones."""
    labelled = np.setdiff1d(np.arange(model.n_rows), model.unlabelled)
    wanted = np.concatenate([model.rows_to_label, np.random.default_rng(0).permutation(labelled)])
    return lay_out(model.estimator.graph_, wanted)


def edge_stability(
    model: ReportedModel, on_progress: Callable[[float], None] = lambda _: None
) -> NoiseStability | None:
    """Return the effect of edge noise; `None` for a graph of few edges, or if all predicted values are equal."""
    graph = model.estimator.graph_
    if graph.n_edges < FEWEST_EDGES or (model.classes is None and np.ptp(model.predictions) == 0):
        return None
    draws = next((draws for draws, most in MAX_ROWS_FOR_DRAWS.items() if model.n_rows <= most), 1)
    return estimator_stability(model.estimator, seeds=range(draws), on_progress=on_progress)


def report_sections(
    model: ReportedModel,
    layout: GraphLayout,
    comparison: Comparison | None,
    explained: Mapping[int, Explanation],
    stability: NoiseStability | None,
) -> tuple[Section, ...]:
    """Return the sections in the order of the page; calibration and comparison only if there are hidden labels."""
    estimator, hidden, words = model.estimator, model.estimator.evaluation_, in_words(model, explained)
    why = explanation_section(model, explained, words)
    on_hidden_labels = []
    if hidden is not None and model.classes is not None:
        bins = calibration_bins(hidden.answers.max(axis=1), hidden.predicted == hidden.targets)
        on_hidden_labels.append(calibration_section(bins, uncalibrated_bins(model)))
    if comparison is not None:
        on_hidden_labels.append(comparison_section(comparison))
    weights = estimator.graph_.to_scipy().data
    return (
        data_section(model),
        graph_section(model, layout),
        accuracy_section(model),
        *on_hidden_labels,
        labelling_section(model, layout.rows),
        *(() if why is None else (why,)),
        predictions_section(model, {row: found.listed() for row, found in words.items()}),
        noise_section(stability),
        branches_section(branch_shares(estimator), equal_weights=len(weights) > 0 and np.ptp(weights) == 0),
        training_section(model),
    )


def report_page(model: ReportedModel, layout: GraphLayout, sections: Sequence[Section]) -> str:
    """Return the page."""
    title = f"Report on {model.name}"
    if model.label is not None:
        source = model.card.source if model.card is not None else ""
        title = f"Predicting {shortened(model.label)}" + (f" in {source}" if source else "")
    main = [section for section in sections if not section.specialist]
    folded = [section for section in sections if section.specialist]
    links = "\n".join(
        f'<li><a href="#{section.anchor}"><b>{escaped(section.title)}</b> {escaped(section.key)}</a></li>'
        for section in main
    )
    body = (
        '<a class="skip" href="#data">Skip to the data</a>\n'
        f"<header>\n<h1>{escaped(title)}</h1>\n<p>{escaped(summary(model))}</p>\n</header>\n"
        f'<nav aria-label="Sections of this report">\n<ul>\n{links}\n</ul>\n</nav>\n<main>\n'
        + "\n".join(map(_section, main))
        + '\n<details class="specialist">\n<summary>For specialists: wrong edges, branches and training</summary>\n'
        + "\n".join(map(_section, folded))
        + f"\n</details>\n</main>\n<footer>\n{_footer(model, layout)}\n</footer>"
    )
    style = palette_css() + (_HERE / "report.css").read_text(encoding="utf-8")
    script = "".join((_HERE / name).read_text(encoding="utf-8") for name in ("report.js", "predictions.js"))
    return webpage(title, body, style=style, script=script)


def _section(section: Section) -> str:
    figure = f'<div class="figure">{section.figure}</div>' if section.figure else ""
    return (
        f'<section id="{section.anchor}" class="{"wide" if section.wide else "split"}" tabindex="-1">\n'
        f'<div class="words">\n<h2>{escaped(section.title)}</h2>\n<p>{escaped(section.finding)}</p>\n'
        f'<p class="reading">{escaped(section.reading)}</p>\n</div>\n{figure}\n</section>'
    )


def _footer(model: ReportedModel, layout: GraphLayout) -> str:
    rows, card = layout.rows, model.card
    names = listed([f"“{name}”" for name in row_values(model, rows[:1])[0]])
    named = "numbers" if model.identifiers is None else "identifiers"
    paragraphs = [
        f"This page contains the {named}, labels and predictions of {counted(len(listed_rows(model)), 'row')} of the "
        f"table, and for {counted(len(rows), 'row')} the values of {names}. Row 1 is the first below the header. Share "
        "the page only with people who may see these. It works offline and loads nothing.",
        "Hidden labels were predicted by models trained without them. The saved model was trained on all labels.",
    ]
    if card is not None:
        versions = ", ".join(f"{name} {version}" for name, version in card.versions.items())
        code = "" if card.commit is None else f", commit {card.commit}"
        command = f"by “{card.command}”" if card.command else "from Python"
        paragraphs.append(f"The model was trained {command} ({versions}{code}).")
    return "\n".join(f"<p>{escaped(text)}</p>" for text in paragraphs)
