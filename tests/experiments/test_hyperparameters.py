from itertools import product

import pytest

from s2gnn import S2GNN, InputError
from s2gnn.experiments.hyperparameters import PUBLISHED, Hyperparameters, default_hyperparameters

# lr, weight decay, hidden, layers, dropout, fusion, alpha
TABLE = """
cancer-b 0.0177 0.0006 32 2 0.3077 mlp    6
cancer-m 0.0085 0.0001 64 3 0.3525 mlp    6
20news   0.0057 0.0004 32 2 0.4569 linear 4
har      0.0057 0.0004 64 2 0.3763 mlp    6
isolet   0.0071 0.0006 64 2 0.6219 mlp    2
"""


def test_published_values_are_those_of_the_table_and_make_a_model():
    rows = [line.split() for line in TABLE.strip().splitlines()]
    assert [row[0] for row in rows] == list(PUBLISHED)
    for name, *expected in rows:
        chosen = PUBLISHED[name]
        config = S2GNN(10, out_channels=3, **chosen.model).config
        sizes = config.hidden_channels, config.num_layers, config.dropout, config.fusion, config.alpha
        assert [str(value) for value in (chosen.lr, chosen.weight_decay, *sizes)] == expected
        assert config.epsilon == 1.5
        assert default_hyperparameters("s2gnn", name) == chosen


def test_defaults_elsewhere():
    assert default_hyperparameters("gcn", "cancer-b").model == {"hidden_channels": 32, "num_layers": 2, "dropout": 0.5}
    assert default_hyperparameters("s2gnn", "cora").model["alpha"] == 4
    assert default_hyperparameters("regular-sobolev", "har").model == PUBLISHED["har"].model
    assert "epsilon" not in default_hyperparameters("no-hadamard", "har").model
    for data, model in product(("ppi-human", "ogbn-proteins"), ("s2gnn", "gcn")):
        proteins = default_hyperparameters(model, data)
        assert (proteins.model["hidden_channels"], proteins.model["num_layers"], proteins.model["dropout"]) == (8, 3, 0)
        assert (proteins.lr, proteins.weight_decay) == (1e-3 if data == "ogbn-proteins" else 0.01, 0)
    assert default_hyperparameters("supergat", "ppi-human").model["attention_loss"] == 0
    assert default_hyperparameters("supergat", "har").model["attention_loss"] == 1
    assert default_hyperparameters("svm", "har") == Hyperparameters(0.0, 0.0, {"C": 1.0})


def test_given_values_replace_and_leave_the_rest():
    chosen = Hyperparameters(0.01, 5e-4, {"alpha": 4, "dropout": 0.5})
    changed = chosen.with_values({"lr": 1, "alpha": 2, "heads": 3})
    assert changed == Hyperparameters(1.0, 5e-4, {"alpha": 2, "dropout": 0.5, "heads": 3})
    assert isinstance(changed.lr, float)
    assert chosen.model == {"alpha": 4, "dropout": 0.5}
    for value in ("fast", float("nan")):
        with pytest.raises(InputError, match="lr is .*, but it must be a finite number"):
            chosen.with_values({"lr": value})
