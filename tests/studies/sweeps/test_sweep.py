import pytest

from s2gnn import InputError
from s2gnn.learning.hyperparameters import PUBLISHED
from s2gnn.learning.protocol import FAIR, RELEASED
from s2gnn.studies.budget import BUDGETS, searchless_budget
from s2gnn.studies.sweeps.stored import SWEEPS
from s2gnn.studies.table import load_table

QUICK = BUDGETS["quick"]


def test_epsilon_is_swept_as_in_figure_6():
    cells = SWEEPS["epsilon"].cells(QUICK)
    assert len(cells) == 5 * 21
    for data, published in PUBLISHED.items():
        found = [cell for cell in cells if cell.data == data]
        assert [round(10 * cell.hyperparameters.model["epsilon"]) for cell in found] == list(range(21))
        assert all(cell.hyperparameters.with_values({"epsilon": 1.5}) == published for cell in found)
        assert {(cell.graph, cell.model, len(cell.seeds)) for cell in found} == {("knn", "s2gnn", 3)}


def test_alpha_is_swept_with_the_published_hyperparameters():
    cells = SWEEPS["alpha"].cells(QUICK)
    assert [cell.hyperparameters.model["alpha"] for cell in cells] == [1, 2, 3, 4, 5, 6] * 5


def test_neighbours_are_those_of_the_graph_and_nothing_to_an_mlp():
    cells = SWEEPS["neighbours"].chosen(["har"]).cells(QUICK)
    found = [(cell.model, cell.protocol.name, cell.k) for cell in cells]
    both = [("gcn", protocol, k) for protocol in ("released", "fair") for k in (10, 20, 30, 40)]
    mlp = [("mlp", "released", 40), ("mlp", "fair", 40)]
    assert found == [*(("s2gnn", "released", k) for k in (10, 20, 30, 40)), *both, *mlp]


def test_an_order_is_to_each_model_its_own_number():
    cells = SWEEPS["reach"].chosen(["isolet"], protocol="fair").cells(QUICK)
    orders = {}
    for cell in cells:
        chosen = cell.hyperparameters.model
        orders.setdefault(cell.model, []).append(chosen.get("alpha", chosen.get("powers", chosen.get("K"))))
    assert list(orders) == ["s2gnn", "regular-sobolev", "sign", "cheby"]
    assert all(found == [1, 2, 3, 4, 5, 6] for found in orders.values())


def test_shares_of_labels_are_compared_on_equal_terms():
    cells = SWEEPS["label-efficiency"].chosen(["isolet"]).cells(QUICK)
    assert len(cells) == 7 * 4
    assert [cell.share for cell in cells[:7]] == [0.005, 0.01, 0.02, 0.05, None, 0.2, 0.3]
    assert {cell.protocol.head for cell in cells if cell.model in ("gcn", "mlp")} == {"plain"}


def test_a_model_without_a_head_is_one_line_and_the_cell_of_the_accuracy_table():
    labels = {name: [line.label for line in sweep.lines] for name, sweep in SWEEPS.items()}
    assert labels["epsilon"] == labels["alpha"] == ["s2gnn"]
    assert labels["neighbours"] == ["s2gnn", "gcn, released", "gcn, fair", "mlp, released", "mlp, fair"]
    assert labels["reach"] == ["s2gnn", "regular-sobolev", "sign", "cheby, released", "cheby, fair"]
    assert labels["label-efficiency"] == ["s2gnn", "gcn", "mlp", "label-spreading"]
    table = load_table("table2-knn")
    for name, value in (("epsilon", 1.5), ("alpha", 6), ("neighbours", 40), ("label-efficiency", 10)):
        sweep = SWEEPS[name]
        (place,) = table.chosen(["har"], ["s2gnn"]).cells
        theirs = table.cell(place, table.protocols[1], QUICK)
        assert sweep.cell("har", sweep.line("s2gnn"), value, QUICK) == theirs
    sweep = SWEEPS["neighbours"]
    assert (sweep.line("gcn").protocol, sweep.line("gcn", RELEASED).protocol) == (FAIR, RELEASED)
    assert sweep.chosen(models=["mlp"]).line("gcn") is None


def test_a_sweep_has_no_search():
    assert searchless_budget("full") == BUDGETS["long"]
    assert searchless_budget("quick") == QUICK
    assert (QUICK.seeds, QUICK.patience) == (3, 100)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": ["cora"]}, "reach has no data set 'cora': choose from cancer-b, cancer-m"),
        ({"models": ["gat"]}, "reach has no model 'gat': choose from s2gnn, regular-sobolev"),
        ({"protocol": "strict"}, "reach has no protocol 'strict': choose from released, fair"),
    ],
)
def test_what_a_sweep_has_not_is_named(arguments, message):
    with pytest.raises(InputError, match=message):
        SWEEPS["reach"].chosen(**arguments)
