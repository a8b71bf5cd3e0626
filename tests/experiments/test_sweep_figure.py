import numpy as np
import pytest
from matplotlib.colors import to_hex

from s2gnn.experiments.registry import find_study
from s2gnn.experiments.sweep_figure import draw_curves
from s2gnn.pictures import PALETTE
from tests.experiments.test_sweep import write


def panels(figure):
    return [axes for axes in figure.axes if axes.get_title()]


def test_every_line_is_drawn_with_its_standard_deviation_as_a_band(tmp_path):
    name = "label-efficiency"
    for model in find_study(name).models:
        for data in ("cancer-b", "har"):
            write(tmp_path, name, data, model, {0.5: [60.0, 62.0, 64.0], 1: [70.0, 71.0, 72.0], 30: [80.0] * 3})
    figure = draw_curves(find_study(name).result(tmp_path))
    assert [axes.get_title() for axes in panels(figure)] == ["cancer-b", "har"]
    for axes in panels(figure):
        assert [line.get_label() for line in axes.lines] == ["s2gnn", "gcn", "mlp", "label-spreading"]
        assert len({line.get_color() for line in axes.lines} & set(PALETTE)) == 4
        np.testing.assert_allclose(axes.lines[0].get_xdata(), [0.5, 1, 30])
        np.testing.assert_allclose(axes.lines[0].get_ydata(), [62, 71, 80])
        band = axes.collections[0].get_paths()[0].vertices
        np.testing.assert_allclose((band[:, 1].min(), band[band[:, 0] == 0.5][:, 1].max()), (60, 64))
        assert to_hex(axes.collections[0].get_facecolor()[0]) == to_hex(axes.lines[0].get_color())
        assert axes.get_xscale() == "log"
        assert axes.get_xlabel() == "labelled nodes (%)"
    assert panels(figure)[0].get_ylabel() == "test accuracy (%)"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(find_study(name).models)
    assert "quick, 3 seeds" in figure.get_suptitle()


def test_released_is_dashed_and_a_model_that_sees_no_graph_is_level(tmp_path):
    name = "neighbours"
    for model in find_study(name).models:
        write(tmp_path, name, "har", model, {k: [80.0 + k / 10] for k in ((10,) if model == "mlp" else (10, 40))})
    (axes,) = panels(draw_curves(find_study(name).result(tmp_path)))
    lines = {line.get_label(): line for line in axes.lines}
    assert {label: line.get_linestyle() for label, line in lines.items()} == {
        "s2gnn": "-",
        "gcn, released": "--",
        "gcn, fair": "-",
        "mlp, released": "--",
        "mlp, fair": "-",
    }
    assert lines["gcn, fair"].get_color() == lines["gcn, released"].get_color()
    np.testing.assert_allclose(lines["mlp, fair"].get_ydata(), [81.0] * 4)


def test_panels_of_one_line_span_the_same_number_of_points(tmp_path):
    name = "epsilon"
    write(tmp_path, name, "cancer-m", "s2gnn", {0: [60.0], 2: [70.0]})
    write(tmp_path, name, "har", "s2gnn", {0: [93.0], 2: [94.0]})
    figure = draw_curves(find_study(name).result(tmp_path))
    spans = [high - low for low, high in (axes.get_ylim() for axes in panels(figure))]
    assert spans[0] == pytest.approx(spans[1])
    assert spans[0] > 10
    assert not figure.legends
