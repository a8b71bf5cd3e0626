import pytest

from s2gnn.studies.span import seeds_span, span


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


@pytest.mark.parametrize(("counts", "text"), [([1], "1 seed"), ([1, 10], "1 to 10 seeds"), ([5, 5], "5 seeds")])
def test_seeds(counts, text):
    assert seeds_span(counts) == text
