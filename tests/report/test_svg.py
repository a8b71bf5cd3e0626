from xml.etree import ElementTree

from matplotlib.figure import Figure

from s2gnn.report.figures import point_style
from s2gnn.report.svg import LIGHT, QUIET, inline_svg, palette_css


def drawn(name):
    figure = Figure(layout="constrained", facecolor="none")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], "o-", color=LIGHT[2])
    axes.set_xlabel("step & stone", color=QUIET)
    return inline_svg(figure, name, 'a "chart"')


def test_a_figure_takes_the_colours_and_font_of_the_page():
    svg = drawn("one")
    assert "stroke:var(--c2)" in svg
    assert "fill:var(--quiet)" in svg
    assert LIGHT[2] not in svg
    assert "font-family" not in svg
    assert "http" not in svg
    assert "step &amp; stone</text>" in svg
    assert drawn("one") == svg


def test_figures_on_one_page_share_no_ids():
    roots = [ElementTree.fromstring(drawn(name)) for name in ("one", "two")]
    ids = [[element.get("id") for element in root.iter() if element.get("id")] for root in roots]
    assert ids[0]
    assert not set(ids[0]) & set(ids[1])
    for root, own in zip(roots, ids, strict=True):
        assert (root.get("role"), root.get("aria-label")) == ("img", 'a "chart"')
        assert len(set(own)) == len(own)
        references = [element.get("href") for element in root.iter("use")]
        assert references
        assert {reference.removeprefix("#") for reference in references} <= set(own)
        clips = {element.get("clip-path") for element in root.iter() if element.get("clip-path")}
        assert {clip[5:-1] for clip in clips} <= set(own)


def test_fifty_classes_look_different_and_every_colour_has_a_rule():
    styles = [point_style(group, ordered=False) for group in range(50)]
    assert len(set(styles)) == 50
    rules = palette_css()
    assert all(f".{colour}{{" in rules for colour, _ in styles)
