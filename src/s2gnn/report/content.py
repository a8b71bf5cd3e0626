"""All that a report shows of a model, as numbers."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from s2gnn.analysis import NoiseStability, branch_shares, edge_noises
from s2gnn.estimator.stability import estimator_stability
from s2gnn.report.comparison import Comparison, compare
from s2gnn.report.drawn_graph import DrawnGraph, draw_graph
from s2gnn.report.glance import Glance, glance
from s2gnn.report.held_out import Calibration, Residuals, calibration, confusion_matrix
from s2gnn.report.subject import Subject
from s2gnn.report.unsure import UnsureRow, least_sure

# A draw of every noise costs as much as predicting all rows so many times: fewer draws of large tables.
ROWS_FOR_FIVE_DRAWS, ROWS_FOR_TWO = 5_000, 50_000


@dataclass(frozen=True)
class Content:
    """The parts of a report; what could not be measured is `None`.

    Attributes:
        subject: the model.
        glance: the table.
        graph: as drawn.
        confusion: of hidden labels, (C, C).
        calibration: of hidden labels.
        residuals: of hidden quantities.
        unsure: the rows to label next.
        orders: the share of each Hadamard order in each layer, (layers, α + 1).
        stability: under noise on the edges.
        comparison: with other methods.
    """

    subject: Subject
    glance: Glance
    graph: DrawnGraph
    confusion: NDArray[np.int64] | None
    calibration: Calibration | None
    residuals: Residuals | None
    unsure: tuple[UnsureRow, ...]
    orders: NDArray[np.float64]
    stability: NoiseStability | None
    comparison: Comparison | None


def measure(subject: Subject, on_progress: Callable[[float], None] = lambda _: None) -> Content:
    """Measure all parts; `on_progress` is called with the share of the work that is done."""
    unsure = least_sure(subject)
    labelled = np.array([], dtype=np.int64) if subject.labelled is None else subject.labelled
    labelled = np.random.default_rng(0).permutation(labelled)
    wanted = np.concatenate([np.array([row.row for row in unsure], dtype=np.int64), labelled])
    drawn = draw_graph(subject.estimator.graph_, wanted)
    on_progress(0.2)
    comparison = compare(subject, lambda share: on_progress(0.2 + 0.4 * share))
    on_progress(0.6)
    stability = _stability(subject, lambda share: on_progress(0.6 + 0.4 * share))
    confusion = trust = residuals = None
    if subject.evidence is not None and subject.evidence.hidden is not None:
        truth, answers = subject.evidence.hidden_targets(), subject.evidence.hidden.answers
        if subject.classes is None:
            residuals = Residuals(truth, answers[:, 0])
        else:
            predicted = answers.argmax(axis=1)
            confusion = confusion_matrix(truth, predicted, len(subject.classes))
            trust = calibration(answers.max(axis=1), predicted == truth)
    return Content(
        subject=subject,
        glance=glance(subject),
        graph=drawn,
        confusion=confusion,
        calibration=trust,
        residuals=residuals,
        unsure=unsure,
        orders=branch_shares(subject.estimator),
        stability=stability,
        comparison=comparison,
    )


def _stability(subject: Subject, on_progress: Callable[[float], None]) -> NoiseStability | None:
    """What noise does to the answers; `None` for a graph without edges, or if all answers are alike."""
    graph = subject.estimator.graph_
    if graph.n_edges == 0 or (subject.classes is None and np.ptp(subject.answers) == 0):
        return None
    noises = [noise for noise in edge_noises() if noise.fits(graph)]
    draws = 5 if graph.n_nodes <= ROWS_FOR_FIVE_DRAWS else 2 if graph.n_nodes <= ROWS_FOR_TWO else 1
    return estimator_stability(
        subject.estimator,
        noises=noises,
        seeds=range(draws),
        on_draw=lambda draw: on_progress(draw / (draws * len(noises))),
    )
