from xml.etree import ElementTree

from matplotlib.figure import Figure

from s2gnn.report.colours import LIGHT, QUIET, class_look, palette_css
from s2gnn.report.vector import inline_svg


def drawn(name):
    figure = Figure(layout="constrained", facecolor="none")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], "o-", color=LIGHT[2])
    axes.set_xlabel("step & stone", color=QUIET)
    return inline_svg(figure, name, 'a "chart"')


def test_a_figure_takes_the_pages_colours_and_font():
    svg = drawn("one")
    assert "stroke:var(--c2)" in svg
    assert "fill:var(--quiet)" in svg
    assert LIGHT[2] not in svg
    assert "font-family" not in svg
    assert "http" not in svg
    assert "step &amp; stone</text>" in svg


def test_figures_on_one_page_share_no_ids_and_refer_to_their_own():
    roots = [ElementTree.fromstring(drawn(name)) for name in ("one", "two")]
    ids = [[element.get("id") for element in root.iter() if element.get("id")] for root in roots]
    assert ids[0]
    assert not set(ids[0]) & set(ids[1])
    for root, own in zip(roots, ids, strict=True):
        assert root.get("role") == "img"
        assert root.get("aria-label") == 'a "chart"'
        assert len(set(own)) == len(own)
        references = [element.get("href") for element in root.iter("use")]
        assert references
        assert {reference.removeprefix("#") for reference in references} <= set(own)
        clips = {element.get("clip-path") for element in root.iter() if element.get("clip-path")}
        assert {clip[5:-1] for clip in clips} <= set(own)


def test_fifty_classes_look_different_and_every_look_has_a_rule():
    looks = [class_look(place) for place in range(50)]
    assert len(set(looks)) == 50
    rules = palette_css()
    assert all(f".c{colour}{{" in rules for colour, _ in looks)
