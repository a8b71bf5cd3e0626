import pytest

from s2gnn.report.baselines import CONSTANT, LINEAR, OURS, SPREADING, Comparison, Method
from s2gnn.report.comparison_section import comparison_section


def methods(ours, linear, spreading, *, p, constant=(0.3, 0.0)):
    scores, chances = (ours, linear, spreading, constant[0]), (None, *p, constant[1])
    parts = zip((OURS, LINEAR, SPREADING, CONSTANT), scores, chances, strict=True)
    return tuple(Method(name, score, score - 0.1, score + 0.1, chance) for name, score, chance in parts)


@pytest.mark.parametrize(
    ("found", "classifies", "key"),
    [
        (methods(0.9, 0.7, 0.6, p=(0.01, 0.01)), True, "beats all 2"),
        (methods(0.9, 0.7, 0.8, p=(0.01, 0.3)), True, "better than 1 of 2 methods"),
        (methods(0.9, 0.8, 0.8, p=(0.2, 0.3)), True, "no clear difference"),
        (methods(0.7, 0.9, 0.6, p=(0.01, 0.3)), True, "a simpler method wins"),
        (methods(0.8, 0.7, 0.8, p=(0.3, 1), constant=(0.8, 1)), True, "no better than a constant"),
        (methods(0.7, 0.9, 0.8, p=(0.01, 0.01), constant=(1.2, 0.0)), False, "beats all 2"),
    ],
)
def test_a_difference_counts_if_chance_does_not_explain_it(found, classifies, key):
    assert comparison_section(Comparison(found, 50, classifies)).key == key


def test_a_model_that_does_not_beat_a_constant():
    found = methods(0.79, 0.81, 0.83, p=(0.5, 0.3), constant=(0.79, 1.0))
    finding = comparison_section(Comparison(found, 155, True)).finding
    assert "Every simpler method scores higher; the differences may be due to chance." in finding
    assert "S2-GNN is not better than always predicting the most frequent class." in finding
    found = methods(0.5, 0.6, 0.4, p=(0.5, 0.3), constant=(0.52, 0.7))
    finding = comparison_section(Comparison(found, 20, False)).finding
    assert "The difference from logistic regression and label spreading may be due to chance." in finding
    assert "The lead over always predicting the median may be due to chance." in finding
    assert "not better" not in finding
