import pytest

from s2gnn.studies.span import counted, span


@pytest.mark.parametrize(
    ("values", "form", "text"),
    [
        ([3, 1, 2], "", "1 to 3"),
        ([5, 5], "", "5"),
        ([0.501, 0.499], ".2f", "0.50"),
        ([0.5, 1.0], ".2f", "0.50 to 1.00"),
    ],
)
def test_the_least_and_the_greatest_or_what_reads_alike(values, form, text):
    assert span(values, form) == text


@pytest.mark.parametrize(("counts", "text"), [([1], "1 fold"), ([1, 10], "1 to 10 folds"), ([5, 5], "5 folds")])
def test_a_span_with_its_noun(counts, text):
    assert counted(counts, "fold") == text
