from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from s2gnn.experiments.appearance import display_name, line_style
from s2gnn.nn import MODELS
from s2gnn.pictures import add_legend, label_ends, name_rows, panel_grid, save_figure


def test_a_figure_is_written_as_png_and_as_svg_without_fonts(tmp_path):
    def draw():
        figure = Figure()
        figure.subplots().set_xlabel("ε of Ŝ")
        return figure

    save_figure(draw, tmp_path / "both")
    assert (tmp_path / "both.png").read_bytes().startswith(b"\x89PNG")
    svg = ElementTree.fromstring((tmp_path / "both.svg").read_text())
    assert not [element for element in svg.iter() if element.tag.endswith("}text")]
    save_figure(draw, tmp_path / "one.png")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["both.png", "both.svg", "one.png"]


def test_a_legend_is_in_the_cell_that_panels_leave_empty_or_else_below_them():
    for n, below in ((5, False), (6, True), (2, True)):
        figure, panels, cell = panel_grid(n, 3, 1.5)
        assert (len(panels), cell is None) == (n, below)
        add_legend(figure, cell, [Line2D([], [], label="GCN")])
        legend = figure.legends[0] if below else cell.get_legend()
        assert [text.get_text() for text in legend.get_texts()] == ["GCN"]


def test_labels_at_the_ends_of_lines_keep_their_order_and_do_not_overlap():
    figure = Figure(figsize=(3, 2))
    axes = figure.subplots()
    axes.set(xlim=(0, 1), ylim=(0, 1))
    ends = {"a": 0.9, "c": 0.51, "d": 0.5, "b": 0.52}
    label_ends(axes, [(1.0, y, label, "black") for label, y in ends.items()])
    heights = {text.get_text(): text.get_position()[1] for text in axes.texts}
    assert heights["a"] == pytest.approx(0.9)
    assert heights["b"] > heights["c"] > heights["d"]
    assert np.mean([heights[name] for name in "bcd"]) == pytest.approx(0.51)
    panel = 2 * 72 * axes.get_position().height
    assert (heights["b"] - heights["c"]) * panel == pytest.approx(8)


def test_labels_stay_below_the_top_of_the_panel():
    axes = Figure(figsize=(3, 2)).subplots()
    axes.set(xlim=(0, 1), ylim=(0, 1))
    label_ends(axes, [(1.0, 1.0, label, "black") for label in "abc"])
    assert max(text.get_position()[1] for text in axes.texts) <= 1


def test_rows_are_named_from_the_top():
    axes = Figure().subplots()
    name_rows(axes, ["first", "second"])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["first", "second"]
    assert axes.get_ylim() == (1.6, -0.6)


def test_every_model_has_a_distinct_name_and_style():
    assert (display_name("s2gnn"), display_name("cancer-b"), display_name("my-graph")) == (
        "S2-GNN",
        "Cancer-B",
        "my-graph",
    )
    shown = [model for model in MODELS if model != "s2gnn+"]
    styles = {(style["color"], style["marker"]) for style in map(line_style, shown)}
    assert len(styles) == len(shown)
