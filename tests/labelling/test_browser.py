"""The labelling page in a real browser."""

import json
import time

import pytest

from s2gnn.tables import read_table
from tests.browser import Browser, find_chromium
from tests.labelling.conftest import write_blobs

HOSTILE = "<img src=x onerror=alert(1)>"


def wait(browser, expression):
    """Wait until an expression holds on the page."""
    end = time.monotonic() + 20
    while not browser.run(expression):
        assert time.monotonic() < end, expression
        time.sleep(0.02)


def shown(browser):
    """The number of the row that is shown, counted from 0."""
    wait(browser, "state !== null && !busy")
    return browser.run("state.row?.number ?? null")


def press(browser, key):
    """Press a key of the page and wait for the answer."""
    shown(browser)
    browser.press(key)
    wait(browser, "!busy")


def start(browser, server, **options):
    browser.open(server.address, **options)
    wait(browser, "state !== null")


def panel(browser):
    return browser.run("document.querySelector('aside').innerText")


def answer_rows(browser, kinds, n):
    for place in range(n):
        press(browser, ("1", "2")[kinds[shown(browser)] == "b"] if place % 2 else kinds[shown(browser)])


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "blobs.csv"
    return path, write_blobs(path)


def test_twenty_rows_are_labelled_with_the_keyboard(browser, serve, table):
    path, kinds = table
    server = serve(path, classes=("a", "b"))
    start(browser, server)
    answer_rows(browser, kinds, 20)
    saved = read_table(path.with_name("blobs.labelled.csv")).column("kind").tolist()
    assert sum(label != "" for label in saved) == 20
    assert all(label in ("", kind) for label, kind in zip(saved, kinds, strict=True))
    wait(browser, "!state.training && state.row.prediction !== null")
    assert "20 of 40 rows labelled" in panel(browser)
    assert "Saved: row " in browser.run("document.getElementById('saved').textContent")
    assert "Predicted:" in browser.run("document.getElementById('prediction').textContent")
    assert browser.complaints() == []
    origin = f"http://127.0.0.1:{server.server_port}/"
    assert all(address.startswith((server.address, f"{origin}favicon")) for address in browser.requests())


def test_undo_skip_reload_and_resume(browser, serve, table):
    path, kinds = table
    server = serve(path, classes=("a", "b"))
    start(browser, server)
    first = shown(browser)
    press(browser, kinds[first])
    second = shown(browser)
    press(browser, "s")
    assert shown(browser) not in (first, second)
    press(browser, "u")
    assert shown(browser) == second
    press(browser, "u")
    assert shown(browser) == first
    assert "0 of 40" in panel(browser)
    answer_rows(browser, kinds, 3)
    current = shown(browser)
    start(browser, server)
    assert shown(browser) == current
    press(browser, "s")
    start(browser, serve(path))  # as after a restart
    assert "3 of 40" in panel(browser)
    assert "1 row skipped" in panel(browser)
    assert shown(browser) != current
    press(browser, "u")
    assert shown(browser) == current
    press(browser, "s")
    assert shown(browser) != current
    browser.run("document.querySelector('#skipped button').click()")
    wait(browser, "!busy && document.getElementById('skipped').hidden")


def test_a_class_is_added(browser, serve, table):
    path, _ = table
    server = serve(path)
    start(browser, server)
    assert "Press n to name the first class" in browser.run("document.body.innerText")
    browser.press("n")
    assert browser.run("document.activeElement.id") == "new-class"
    browser.send("Input.insertText", text="snake")  # s, n and u are typed here, and not obeyed
    browser.run("document.querySelector('#adding [type=submit]').click()")
    wait(browser, "state.classes.length === 1")
    row = shown(browser)
    press(browser, "1")
    assert server.session.copy.labels[row] == "snake"
    press(browser, "s")  # skips: the letter of a command is not that of a class
    assert server.session.state()["panel"]["skipped"] == 1


def test_two_browsers_lose_no_answer(browser, serve, table, tmp_path):
    path, kinds = table
    server = serve(path, classes=("a", "b"))
    other = Browser(find_chromium(), tmp_path / "profile")
    try:
        start(browser, server)
        start(other, server)
        row = shown(browser)
        assert shown(other) == row
        press(browser, kinds[row])
        press(other, "a" if kinds[row] == "b" else "b")
        assert "already labelled" in other.run("document.getElementById('problem').textContent")
        assert server.session.copy.labels[row] == kinds[row]
        answer_rows(other, kinds, 2)
        assert server.session.state()["panel"]["labelled"] == 3
    finally:
        other.close()


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_hostile_names_and_values_are_shown_as_text_at_any_width(browser, serve, tmp_path, width):
    path = tmp_path / "hostile.csv"
    long = "w" * 300
    lines = [f'{row}.5,"{HOSTILE}","</script><script>alert(2)</script> {long}","{long}{row}",' for row in range(12)]
    path.write_text("\n".join([f'x,"{HOSTILE}",note,name,"{HOSTILE} label"', *lines]) + "\n")
    server = serve(path, f"{HOSTILE} label", identifier="name", text="note", classes=(HOSTILE, long, "__proto__"))
    start(browser, server, width=width)
    press(browser, "1")
    press(browser, "3")
    wait(browser, "!state.training")
    assert browser.run("document.querySelector('#columns th small').dir") == "auto"
    assert sorted(set(server.session.copy.labels)) == ["", HOSTILE, "__proto__"]
    assert browser.run("document.querySelectorAll('img[src=x]').length") == 0
    assert HOSTILE in browser.run("document.body.innerText")
    assert "</script><script>" in browser.run("document.getElementById('text').textContent")
    assert browser.run("document.documentElement.scrollWidth") == width
    assert browser.complaints() == []


def test_an_image_is_shown(browser, serve, tmp_path):
    from PIL import Image

    for row in range(6):
        Image.new("RGB", (8, 8), (40 * row, 0, 0)).save(tmp_path / f"{row}.png")
    lines = [f"{row}.5,{row}.png," for row in range(6)]
    (tmp_path / "images.csv").write_text("\n".join(["x,file,kind", *lines]) + "\n")
    start(browser, serve(tmp_path / "images.csv", image="file", classes=("a", "b")))
    wait(browser, "document.querySelector('#picture img').naturalWidth === 8")
    press(browser, "a")
    wait(browser, "document.querySelector('#columns img').naturalWidth === 8")
    assert browser.complaints() == []


def test_a_missing_image_has_a_reason(browser, serve, tmp_path):
    (tmp_path / "images.csv").write_text("x,file,kind\n1,../one.png,\n2,none.png,\n")
    start(browser, serve(tmp_path / "images.csv", image="file", classes=("a", "b")))
    wait(browser, "document.querySelector('figcaption').textContent.includes('No image: ')")
    assert "next to the table" in browser.run("document.querySelector('figcaption').textContent")


def test_digits_stand_for_classes_that_are_digits(browser, serve, table):
    server = serve(table[0], classes=("0", "7"))
    start(browser, server)
    row = shown(browser)
    press(browser, "7")
    assert server.session.copy.labels[row] == "7"


def test_when_every_row_is_labelled_the_page_says_what_is_next(browser, serve, tmp_path):
    write_blobs(tmp_path / "blobs.csv", n=4, labelled=(0, 1, 2))
    server = serve(tmp_path / "blobs.csv", classes=("a",))
    start(browser, server)
    press(browser, "s")
    text = "document.getElementById('row').innerText"
    assert "Only skipped rows are left" in browser.run(text)
    press(browser, "u")
    press(browser, "b")
    assert "Every row is labelled" in browser.run(text)
    assert "s2gnn fit blobs.labelled.csv --label kind" in browser.run(text)
    press(browser, "b")  # nothing to answer
    press(browser, "u")
    assert shown(browser) == 3


def test_a_stopped_server_and_a_full_disk_are_shown(browser, serve, table, monkeypatch):
    server = serve(table[0], classes=("a", "b"))
    start(browser, server)
    row = shown(browser)

    def full(*_):
        raise OSError(28, "No space left on device", "blobs.labelled.csv")

    with monkeypatch.context() as patch:
        patch.setattr("s2gnn.labelling.labels.write_atomically", full)
        press(browser, "a")
        assert "No space left on device" in browser.run("document.getElementById('problem').innerText")
        assert shown(browser) == row
    press(browser, "a")
    assert browser.run("document.getElementById('problem').hidden")
    assert json.dumps(server.session.copy.labels[row]) == '"a"'
