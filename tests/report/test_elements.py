import pytest

from s2gnn.report.elements import Html, counted, listed, percent, points, shortened, table


def plain(text):
    """The text with ordinary spaces."""
    return text.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (1, "100 %"), (0.126, "13 %"), (0.004, "0.4 %"), (0.0001, "under 0.1 %"), (0.996, "99.6 %")],
)
def test_shares_close_to_0_and_1_are_not_rounded_to_them(share, text):
    assert plain(percent(share)) == text


def test_counts_lists_and_short_texts():
    assert [plain(counted(n, "row")) for n in (1, 2000)] == ["1 row", "2,000 rows"]
    assert [listed(list("abc"[:n])) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
    assert plain(points(0.93, 0.944)) == "1 point"
    assert plain(points(0.9444, 0.8778)) == "6 points"  # 94 % and 88 %
    assert shortened(" a\nb ") == "a b"
    assert len(shortened(50 * "a")) == 40


def test_cells_are_escaped_unless_they_are_html():
    text = table("a & b", ("<i>", "k", "l"), [("<b>", "<b>", Html("<b>x</b>"))])
    assert '<th scope="row">&lt;b&gt;</th><td>&lt;b&gt;</td><td><b>x</b></td>' in text
    assert 'aria-label="a &amp; b"' in text
    assert '<th scope="col">&lt;i&gt;</th>' in text
    stacked = table("a", ('"i"', "k"), [("1", "2")], kind="why", stacked=True)
    assert '<tr><th scope="row" data-heading="&quot;i&quot;">1</th><td data-heading="k">2</td></tr>' in stacked
    assert '<table class="why stacked">' in stacked


def test_many_stacked_rows_are_folded_on_narrow_pages():
    rows = [(str(row), "a") for row in range(5)]
    assert "show all 5 rows" in table("Rows", ("row", "value"), rows, stacked=True)
    assert "show all" not in table("Rows", ("row", "value"), rows[:3], stacked=True)
    assert "show all" not in table("Rows", ("row", "value"), rows)
