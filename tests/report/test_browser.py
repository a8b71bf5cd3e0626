"""The report in a real browser."""

import numpy as np
import pandas as pd
import pytest

from s2gnn.report.explanation_section import in_words

CONTRAST = """
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const shade = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
  };
  const luminance = (colour) => shade(colour).reduce((sum, part, n) => sum + part * [0.2126, 0.7152, 0.0722][n], 0);
  const paper = luminance(getComputedStyle(document.documentElement).backgroundColor);
  const against = (element) => {
    const style = getComputedStyle(element);
    const ink = luminance(element.closest("svg") ? style.fill : style.color);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  };
  const texts = document.querySelectorAll("h1, h2, p, th, td, summary, svg.chart text");
  return Math.min(...[...texts].map(against));
})()
"""
BOX = "((element) => { const box = element.getBoundingClientRect(); return [box.width, box.height]; })"
ACTIVE = "[document.activeElement.tagName.toLowerCase(), document.activeElement.id, document.activeElement.className]"


@pytest.fixture(scope="module")
def page(classifier, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(classifier.page)
    return path


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320], ids=["desktop", "phone", "small-phone"])
def test_it_renders_without_errors_or_requests(browser, page, width, dark):
    browser.open(page, width=width, dark=dark)
    assert browser.complaints() == []
    assert browser.requests() == [page.as_uri()]
    assert browser.run("document.documentElement.scrollWidth") == width
    assert browser.run(CONTRAST) > 4.5
    bright = browser.run("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert bright != dark
    browser.run("document.querySelector('details.specialist').open = true")
    for name in ("graph", "calibration", "comparison", "noise", "branches", "curves"):
        box = browser.run(f"{BOX}(document.querySelector('svg.{name}'))")
        assert width / 3 < box[0] <= width
        assert box[1] > 80
    assert browser.screenshot().startswith(b"\x89PNG")
    boxes = "[...document.querySelectorAll('.stacked')].map((table) => table.parentElement)"
    assert browser.run(f"{boxes}.every((box) => box.scrollWidth <= box.clientWidth)")  # nothing is cut off


def test_pointing_at_a_row_shows_it(browser, page):
    browser.open(page)
    x, y = browser.run(
        "(() => { const point = document.getElementById('row-1'); point.scrollIntoView({ block: 'center' });"
        "const box = point.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )
    browser.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    shown = browser.run("document.getElementById('row-shown').innerText")
    assert "predicted" in shown
    assert "petal length:" in shown
    halo = browser.run("(({ x, width }) => x + width / 2)(document.querySelector('.halo').getBoundingClientRect())")
    assert halo == pytest.approx(x, abs=1)
    browser.send("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
    browser.send("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, button="left", clickCount=1)
    assert browser.run(ACTIVE)[0] == "use"


def test_it_works_from_the_keyboard(browser, page):
    browser.open(page)
    browser.press("Tab", code=9)
    assert browser.run(ACTIVE)[2] == "skip"
    assert browser.run("document.activeElement.getBoundingClientRect().left") >= 0
    visited = []
    for _ in range(40):
        browser.press("Tab", code=9)
        visited.append(browser.run(ACTIVE))
        if visited[-1][0] == "use":
            break
    assert visited[0][0] == "a"
    assert visited[-1][0] == "use"
    stroke = browser.run("getComputedStyle(document.activeElement).stroke")
    assert stroke != browser.run("getComputedStyle(document.activeElement.parentNode).stroke")
    first = browser.run("document.getElementById('row-shown').innerText")
    assert first.startswith("Row ")
    label = browser.run("document.activeElement.getAttribute('aria-label')")
    assert label.startswith("Row ")
    seen = {first}
    for key, code in (("ArrowRight", 39), ("ArrowDown", 40), ("ArrowLeft", 37), ("ArrowUp", 38), ("End", 35)):
        browser.press(key, code=code)
        seen.add(browser.run("document.getElementById('row-shown').innerText"))
    assert len(seen) >= 3
    browser.press("Tab", code=9)
    assert browser.run(ACTIVE)[0] != "use"
    assert browser.complaints() == []


def test_an_uncertain_row_links_to_its_point(browser, page):
    browser.open(page)
    target = browser.run("document.querySelector('.uncertain a').hash")
    browser.run("document.querySelector('.uncertain a').click()")
    browser.run("new Promise((done) => setTimeout(done, 100))")
    assert browser.run(ACTIVE)[1] == target.removeprefix("#")
    number = target.removeprefix("#row-")
    assert browser.run("document.getElementById('row-shown').innerText").startswith(f"Row {number}")


COLUMN = "[...document.querySelectorAll('#predictions-table tbody tr')].map((row) => row.cells[{}].textContent)"
PLACE = "document.getElementById('predictions-place').textContent"


def test_predictions_are_paged_sorted_and_searched(browser, page, classifier):
    browser.open(page)
    assert browser.run(COLUMN.format(0)) == [str(row) for row in range(1, 26)]
    assert browser.run(PLACE) == "1 to 25 of 150"
    browser.run("document.getElementById('predictions-next').click()")
    assert browser.run(COLUMN.format(0))[0] == "26"
    heading = "document.querySelectorAll('#predictions-table th button')[2].click()"
    confidence = np.sort(classifier.model.predictions.max(axis=1))
    for expected in (confidence[:25], confidence[::-1][:25]):
        browser.run(heading)
        shown = [float(text.rstrip("%")) for text in browser.run(COLUMN.format(2))]
        np.testing.assert_allclose(shown, 100 * expected, atol=0.051)
    assert browser.run("document.querySelectorAll('#predictions-table th')[2].ariaSort") == "descending"
    search = "const box = document.getElementById('predictions-search'); box.value = {!r};"
    browser.run("{" + search.format("SETOSA") + "box.dispatchEvent(new Event('input')); }")
    assert set(browser.run(COLUMN.format(1))) == {"setosa"}
    browser.run("{" + search.format("row 17") + "box.dispatchEvent(new Event('input')); }")
    assert browser.run(COLUMN.format(0)) == ["17"]
    assert browser.complaints() == []


def test_why_opens_the_explanation_of_a_row(browser, page, classifier):
    browser.open(page, width=390)
    why = "document.querySelector('#predictions-table tbody button')"
    assert browser.run(f"{why}.textContent") == "why"
    browser.run(f"{why}.click()")
    expected = in_words(classifier.model, classifier.explained)[0]
    shown = browser.run("document.querySelector('.opened').innerText").split()
    assert shown == " ".join(" ".join([heading, *lines]) for heading, lines in expected.listed()).split()
    assert browser.run(f"{why}.ariaExpanded") == "true"
    assert browser.run("document.documentElement.scrollWidth") == 390
    browser.run(f"{why}.click()")
    assert browser.run("document.querySelector('.opened')") is None
    assert browser.complaints() == []


def test_predictions_download_as_csv(browser, page, classifier, tmp_path):
    browser.open(page)
    browser.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    browser.run("document.getElementById('predictions-download').click()")
    path = tmp_path / "species.csv"
    for _ in range(100):
        if path.exists():
            break
        browser.run("new Promise((done) => setTimeout(done, 50))")
    rows = pd.read_csv(path)
    assert rows["predicted"].tolist() == classifier.model.estimator.transduction_.tolist()
    np.testing.assert_allclose(rows["probability"], classifier.model.predictions.max(axis=1), atol=1e-6)
    assert rows["label"].notna().sum() == 30


def test_every_part_has_a_name_for_screen_readers(browser, page):
    browser.open(page)
    nodes = browser.send("Accessibility.getFullAXTree")["nodes"]
    named = {(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]}
    roles = {role for role, _ in named}
    assert {"banner", "navigation", "main", "contentinfo", "heading", "table", "image"} <= roles
    assert all(name for role, name in named if role in ("image", "link", "region", "heading", "navigation"))
