import pytest

from s2gnn.report.baselines import CONSTANT, LINEAR, OURS, SPREADING, Comparison, Method
from s2gnn.report.comparison_section import comparison_section


def methods(ours, linear, spreading, *, p):
    parts = zip((OURS, LINEAR, SPREADING, CONSTANT), (ours, linear, spreading, 0.3), (None, *p, 0.0), strict=True)
    return tuple(Method(name, score, score - 0.1, score + 0.1, chance) for name, score, chance in parts)


@pytest.mark.parametrize(
    ("found", "classifies", "key"),
    [
        (methods(0.9, 0.7, 0.6, p=(0.01, 0.01)), True, "beats all 2"),
        (methods(0.9, 0.7, 0.8, p=(0.01, 0.3)), True, "better than 1 of 2 methods"),
        (methods(0.9, 0.8, 0.8, p=(0.2, 0.3)), True, "no clear difference"),
        (methods(0.7, 0.9, 0.6, p=(0.01, 0.3)), True, "a simpler method wins"),
        (methods(0.7, 0.9, 0.8, p=(0.01, 0.01)), False, "beats all 2"),
    ],
)
def test_a_difference_counts_if_chance_does_not_explain_it(found, classifies, key):
    assert comparison_section(Comparison(found, 50, classifies)).key == key
