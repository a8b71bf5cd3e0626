import pandas as pd
import pytest

from s2gnn.experiments.figures.overview_hero import draw_hero


def test_the_panels_show_the_given_numbers():
    methods = ["S2GNNClassifier", "random forest", "k-NN", "SVC", "boosting"]
    accuracies = pd.DataFrame({5: [70, 68, 62, 66, 47], 25: [82, 78, 73, 76, 75]}, index=methods)
    _, labels, noise = draw_hero(accuracies, {"s2gnn": 1.5, "gcn": 11.4}).axes
    drawn = {line.get_label(): list(line.get_ydata()) for line in labels.get_lines()}
    assert drawn["S2GNNClassifier"] == [70, 82]
    assert {text.get_text() for text in labels.texts} == {
        "S2GNNClassifier", "random forest", "SVC", "k-NN", "1 other",
    }  # fmt: skip
    assert [bar.get_width() for bar in noise.patches] == pytest.approx([1.5, 11.4])
    assert [text.get_text() for text in noise.get_yticklabels()] == ["S2-GNN", "GCN"]
