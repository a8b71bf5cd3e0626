import re

import pytest

from s2gnn import InputError
from s2gnn.render import Block, Cell, Table, render
from tests.pages import Outline

LAYOUT = Table(
    "Scores & more",
    ("model", "accuracy (%)"),
    (
        Block("data_1", ((Cell("a<b"), Cell("90.00 ± 1.00", 1)), (Cell("c"), Cell("80.00", 2)))),
        Block("two", ((Cell("d"), Cell("–")),)),
    ),
    ("50 % of α",),
)


def test_text_marks_the_two_best_by_asterisks():
    text = render(LAYOUT, "text")
    assert "90.00 ± 1.00** │" in text
    assert "80.00* │" in text
    assert text.rstrip().endswith("50 % of α")
    assert text.splitlines()[0] == "Scores & more"


def test_text_is_never_cut_off():
    wide = Table("wide", tuple("x" * 40 for _ in range(9)), (Block("", (tuple(Cell("y" * 50) for _ in range(9)),)),))
    assert render(wide, "text").count("y" * 50) == 9


def test_markdown_has_a_table_for_each_block():
    text = render(LAYOUT, "markdown")
    assert (
        "**data_1**\n\n| model | accuracy (%) |\n| --- | ---: |\n| a<b | **90.00 ± 1.00** |\n| c | *80.00* |\n" in text
    )
    assert "| d | – |\n\n50 % of α\n" in text


def test_markdown_folds_long_blocks():
    text = render(Table("", ("model",), (Block("all & more", ((Cell("a"),),), folded=True),)), "markdown")
    summary = "<details>\n<summary>all &amp; more</summary>\n\n| model |\n"
    assert text.startswith(summary)
    assert text.endswith("| a |\n\n</details>\n")


def test_latex_escapes_what_has_a_meaning_there():
    text = render(LAYOUT, "latex")
    assert r"\caption{Scores \& more}" in text
    assert r"a$<$b & \textbf{90.00 $\pm$ 1.00} \\" in text
    assert r"c & \underline{80.00} \\" in text
    assert r"\multicolumn{2}{l}{\textbf{data\_1}} \\" in text
    assert r"50 \% of $\alpha$" in text
    assert text.count(r"\begin") == text.count(r"\end") == 2
    assert text.isascii()


def test_html_is_one_sound_page_without_a_network():
    text = render(LAYOUT, "html")
    page = Outline(text)
    assert {"a<b", "90.00 ± 1.00", "80.00", "50 % of α", "Scores & more"} <= set(page.text)
    assert ("td", {"class": "second"}) in page.seen
    assert not re.search(r"(src|href)=", text)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_wide_table_scrolls_by_itself_on_a_phone(browser, tmp_path, dark):
    row = (Cell("model"), *(Cell("90.00 ± 1.00") for _ in range(9)))
    wide = Table("Scores", tuple(f"column {place}" for place in range(10)), (Block("a heading " * 9, (row,)),))
    page = tmp_path / "table.html"
    page.write_text(render(wide, "html"))
    browser.open(page, width=390, dark=dark)
    assert browser.complaints() == []
    assert browser.requests() == [page.as_uri()]
    assert browser.run("document.documentElement.scrollWidth") == 390
    assert browser.run("document.querySelector('.scroll').scrollWidth") > 600
    browser.run("document.querySelector('.scroll').scrollLeft = 200")
    box = browser.run("document.querySelector('tbody span').getBoundingClientRect().toJSON()")
    assert 0 <= box["left"] < box["right"] <= 390


def test_an_unknown_format_is_refused():
    with pytest.raises(InputError, match="the format is 'pdf', but it must be one of text, markdown, latex, html"):
        render(LAYOUT, "pdf")
