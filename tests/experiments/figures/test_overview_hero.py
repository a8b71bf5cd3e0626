import pandas as pd
import pytest

from s2gnn.experiments.figures.overview_hero import draw_hero


def test_the_panels_show_the_given_numbers():
    methods = ["S2GNNClassifier", "random forest", "k-NN", "SVC", "boosting"]
    accuracies = pd.DataFrame({5: [70, 68, 62, 66, 47], 25: [82, 78, 73, 76, 75]}, index=methods)
    figure = draw_hero(accuracies, {"s2gnn": 1.5, "gcn": 11.4}, {"s2gnn": "S2-GNN", "gcn": "GCN"})
    _, labels, noise = figure.axes
    drawn = {line.get_label(): list(line.get_ydata()) for line in labels.get_lines()}
    assert drawn["S2GNNClassifier"] == [70, 82]
    named = [text.get_text() for text in labels.get_legend().get_texts()]
    assert named == ["S2GNNClassifier", "random forest", "SVC", "k-NN"]
    assert [bar.get_width() for bar in noise.patches] == pytest.approx([1.5, 11.4])
    assert [text.get_text() for text in noise.get_yticklabels()] == ["S2-GNN", "GCN"]
