import numpy as np
import pytest
from matplotlib.colors import to_hex

from s2gnn.experiments.registry import find_study
from s2gnn.experiments.sweep_figure import draw_curves
from tests.experiments.test_sweep import write


def panels(figure):
    return [axes for axes in figure.axes if axes.get_title()]


def legend(figure):
    (found,) = [one for one in (*figure.legends, *(axes.get_legend() for axes in figure.axes)) if one]
    return [text.get_text() for text in found.get_texts()]


def test_every_line_is_drawn_with_its_standard_deviation_as_a_band(tmp_path):
    name = "label-efficiency"
    for model in find_study(name).models:
        for data in ("cancer-b", "har"):
            write(tmp_path, name, data, model, {0.5: [60.0, 62.0, 64.0], 1: [70.0, 71.0, 72.0], 30: [80.0] * 3})
    figure = draw_curves(find_study(name).result(tmp_path))
    assert [axes.get_title() for axes in panels(figure)] == ["Cancer-B", "HAR"]
    for axes in panels(figure):
        assert [line.get_label() for line in axes.lines] == ["S2-GNN", "GCN", "MLP", "label spreading"]
        assert len({line.get_color() for line in axes.lines}) == 4
        np.testing.assert_allclose(axes.lines[0].get_xdata(), [0.5, 1, 30])
        np.testing.assert_allclose(axes.lines[0].get_ydata(), [62, 71, 80])
        band = axes.collections[0].get_paths()[0].vertices
        np.testing.assert_allclose((band[:, 1].min(), band[band[:, 0] == 0.5][:, 1].max()), (60, 64))
        assert to_hex(axes.collections[0].get_facecolor()[0]) == to_hex(axes.lines[0].get_color())
        assert axes.get_xscale() == "log"
        assert axes.get_xlabel() == "labelled nodes (%)"
    assert figure.get_supylabel() == "test accuracy (%)"
    assert legend(figure) == ["S2-GNN", "GCN", "MLP", "label spreading", "± standard deviation of 3 seeds"]


def test_released_is_dashed_and_a_model_that_sees_no_graph_is_level(tmp_path):
    name = "neighbours"
    for model in find_study(name).models:
        write(tmp_path, name, "har", model, {k: [80.0 + k / 10] for k in ((10,) if model == "mlp" else (10, 40))})
    (axes,) = panels(draw_curves(find_study(name).result(tmp_path)))
    lines = {line.get_label(): line for line in axes.lines}
    assert {label: line.get_linestyle() for label, line in lines.items()} == {
        "S2-GNN": "-",
        "GCN, released": "--",
        "GCN, fair": "-",
        "MLP, released": "--",
        "MLP, fair": "-",
    }
    assert lines["GCN, fair"].get_color() == lines["GCN, released"].get_color()
    np.testing.assert_allclose(lines["MLP, fair"].get_ydata(), [81.0] * 4)


def test_panels_of_one_line_span_the_same_number_of_points_and_name_their_seeds(tmp_path):
    name = "epsilon"
    write(tmp_path, name, "cancer-m", "s2gnn", {0: [60.0, 60.0], 2: [70.0, 70.0]})
    write(tmp_path, name, "har", "s2gnn", {0: [97.0], 2: [99.0]})
    figure = draw_curves(find_study(name).result(tmp_path))
    (low, high), (low_har, high_har) = (axes.get_ylim() for axes in panels(figure))
    assert high - low == pytest.approx(high_har - low_har)
    assert high - low > 10
    assert high_har <= 100
    assert [axes.get_title() for axes in panels(figure)] == ["Cancer-M (2 seeds)", "HAR (1 seed)"]
    assert legend(figure) == ["S2-GNN", "± standard deviation"]


def test_lines_that_are_close_have_a_panel_where_others_are_far_off(tmp_path):
    for model in find_study("reach").models:
        far, near = ([10.0, 90.0], [88.0, 89.0]) if model == "cheby" else ([90.0, 90.0], [90.0, 90.0])
        write(tmp_path, "reach", "har", model, {1: far, 2: near})
        write(tmp_path, "reach", "isolet", model, {1: near, 2: near})
    figure = draw_curves(find_study("reach").result(tmp_path))
    assert [axes.get_title() for axes in panels(figure)] == ["HAR", "Isolet", "HAR, close-up"]
    everything, _, close_up = panels(figure)
    band = everything.collections[-1].get_paths()[0].vertices
    assert (band[:, 1].min(), band[:, 1].max()) == (0, 100)  # 50 ± 56.6, clipped
    assert close_up.get_ylim()[0] > 80
    assert len(close_up.collections) == len(everything.collections) - 1  # no band of the line that leaves it
    assert "Cheby, fair" in legend(figure)
