import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.data import CATALOGUE, TEST_SEEDS
from s2gnn.learning.hyperparameters import PUBLISHED
from s2gnn.learning.records import RecordsFolder
from s2gnn.nn import MODELS
from s2gnn.studies.budget import BUDGETS, named_budget
from s2gnn.studies.results import KnownRuns
from s2gnn.studies.table import load_table, paper_scores, parse_table, table_names

RESULTS = Path(__file__).parents[2] / "results"
TABLE = """
title = "T"
paper = "Table 0"
graph = "knn"
protocols = ["released", "fair"]

[[cells]]
data = "cancer-b"
model = "gat"
paper = [68.67, 5.24]
source = "searched"
values = { heads = 4, dropout = 0.4 }
"""


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
@pytest.mark.parametrize("name", table_names())
def test_every_shipped_cell_can_be_constructed(name, budget):
    table = load_table(name)
    for cell in table.cells:
        for protocol in table.protocols:
            made = table.cell(cell, protocol, budget)  # builds the model without its memory
            assert (made.data, made.model, made.graph) == (cell.data, cell.model, cell.graph)
            folds = tuple(range(protocol.folds if budget.seeds > 1 else 1)) if protocol.folds else None
            assert made.seeds == (folds or TEST_SEEDS[: budget.seeds])
            assert (made.protocol.epochs, made.protocol.patience) == (budget.epochs, budget.patience)


def test_the_paper_has_twelve_models_on_five_sets_twice_and_nine_on_seven():
    scores = paper_scores()
    assert len(scores) == 12 * 10 + 9 * 7 - 1
    for data, graph, model in scores:
        assert model in MODELS
        assert (graph == "diffusion") == (CATALOGUE[data].kind == "diffusion")
    assert scores["isolet", "knn", "sign"] == (84.11, 0.24)
    assert scores["har", "smooth", "cheby"] == (87.07, 3.57)
    assert scores["pubmed", "diffusion", "s2gnn"] == (77.64, 1.05)
    assert ("pubmed", "diffusion", "supergat") not in scores
    assert scores["ogbn-proteins", "given", "s2gnn"] == (70.26, 4.08)
    assert not any(data == "ppi-human" for data, _, _ in scores)  # a stand-in has no printed numbers
    assert scores["enzymes", "diffusion", "cheby"] == (29.39, 1.21)
    assert scores["mutag", "diffusion", "s2gnn"] == (73.60, 1.46)
    assert scores["proteins", "diffusion", "gatv2"] == (64.47, 1.13)
    assert scores["cancer-b", "smooth", "no-hadamard"] == (88.49, 3.67)
    assert scores["isolet", "knn", "no-hadamard"] == (85.66, 0.31)
    assert scores["cancer-b", "knn", "regular-sobolev"] == (87.05, 4.25)
    assert scores["har", "smooth", "regular-sobolev"] == (93.32, 0.35)


def test_a_number_that_the_paper_prints_in_several_tables_is_the_same():
    for table in filter(lambda table: table.printed, map(load_table, table_names())):
        for cell in table.cells:
            assert cell.paper == paper_scores().get((cell.data, cell.graph, cell.model))


def test_published_hyperparameters_are_used_where_they_exist():
    for name, source in (("table2-knn", "published"), ("table2-learned", "borrowed")):
        assert {cell.data for cell in load_table(name).cells if cell.source == source} == set(PUBLISHED)


def test_a_model_without_a_head_is_run_once_for_both_protocols():
    table = load_table("table2-knn")
    quick = named_budget("quick")

    def hashes(table, model):
        cell = next(cell for cell in table.cells if cell.model == model)
        return {table.cell(cell, protocol, quick).config_hash for protocol in table.protocols}

    assert [len(hashes(table, model)) for model in ("s2gnn", "sign", "gcn", "mlp")] == [1, 1, 2, 2]
    # On citation networks the protocols also differ in what is trained.
    assert len(hashes(load_table("table3"), "s2gnn")) == 2


def test_a_budget_limits_the_heads():
    table = parse_table("t", TABLE)
    heads = [
        table.cell(table.cells[0], table.protocols[1], named_budget(name)).hyperparameters.model["heads"]
        for name in ("smoke", "quick", "long")
    ]
    assert heads == [1, 2, 4]
    with pytest.raises(InputError, match="no budget 'huge': choose from smoke, quick, long, full"):
        named_budget("huge")


def test_a_part_of_a_table():
    table = load_table("table3").chosen(("cora", "pubmed"), ("gcn",))
    assert [(cell.data, cell.model) for cell in table.cells] == [("cora", "gcn"), ("pubmed", "gcn")]
    with pytest.raises(InputError, match="table3 has no model 'sign': choose from mlp, cheby"):
        load_table("table3").chosen(models=("sign",))
    with pytest.raises(InputError, match="table3 has no data set 'har'"):
        load_table("table3").chosen(data=("har",))
    with pytest.raises(InputError, match="there is no table 'table9': choose from ablation-hadamard, "):
        load_table("table9")


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('graph = "knn"', 'graph = "ring"', "graph is 'ring', but it must be one of knn"),
        ('graph = "knn"', "", "t, cancer-b gat: graph is None, but it must be one of knn"),
        ('graph = "knn"', 'variant = "gat"\ngraph = "knn"', "an ablation compares s2gnn with gat, but .* models gat"),
        ('"fair"]', '"unfair"]', "no protocol 'unfair'"),
        (
            '"fair"]',
            '"fair"]\nmetric = "test_f1"',
            "metric is 'test_f1', but it must be one of test_acc",
        ),
        ('source = "searched"', 'source = "guessed"', "t, cancer-b gat: source is 'guessed'"),
        ('source = "searched"', 'source = "customary"', "values are given exactly where they were searched"),
        ("values = { heads = 4, dropout = 0.4 }", "", "values are given exactly where they were searched"),
        ('source = "searched"\nvalues = { heads = 4, dropout = 0.4 }', 'source = "published"', "no .* published"),
        ('source = "searched"\nvalues = { heads = 4, dropout = 0.4 }', 'source = "borrowed"', "no .* published"),
        (
            'model = "gat"\npaper = [68.67, 5.24]\nsource = "searched"\nvalues = { heads = 4, dropout = 0.4 }',
            'graph = "smooth"\nmodel = "s2gnn"\nsource = "published"',
            "on k-NN graphs only",
        ),
        ("paper = [68.67, 5.24]", "papr = [68.67, 5.24]", "unknown entry 'papr'"),
        ('data = "cancer-b"', 'data = "cancer-z"', "cancer-z"),
    ],
)
def test_a_wrong_configuration_is_refused(old, new, text):
    assert old in TABLE
    with pytest.raises(InputError, match=text):
        parse_table("t", TABLE.replace(old, new))


def test_a_place_must_be_there_once():
    again = TABLE[TABLE.index("[[cells]]") :]
    with pytest.raises(InputError, match="t has a place twice"):
        parse_table("t", TABLE + again)
    two_graphs = parse_table("t", TABLE + again + 'graph = "smooth"')
    assert [column.title for column in two_graphs.columns] == ["cancer-b, knn, k = 30", "cancer-b, smooth, k = 30"]


def test_wrong_values_are_found_when_the_cell_is_made():
    table = parse_table("t", TABLE.replace("heads = 4", "hands = 4"))
    with pytest.raises(InputError, match="no hyperparameter 'hands'"):
        table.cell(table.cells[0], table.protocols[0], replace(named_budget("quick"), max_heads=None))


@pytest.fixture(scope="module")
def found():
    """The values that the stored searches found, by data set and model."""
    values = {}
    for path in (RESULTS / "searches").iterdir():
        record = json.loads(path.read_text(encoding="utf-8"))
        best, config = record["best"], record["config"]
        values[config["data"], config["model"]] = {
            **best["model"],
            "lr": best["lr"],
            "weight_decay": best["weight_decay"],
        }
    return values


def test_searched_values_are_those_that_the_stored_searches_found(found):
    by_hand = [("cora", "s2gnn")]  # docs/reproduction.md tells how
    cells = [cell for name in table_names() for cell in load_table(name).cells if cell.source == "searched"]
    assert len(cells) > 15
    for cell in cells:
        if (cell.data, cell.model) not in by_hand:
            assert dict(cell.values) == found[cell.data, cell.model], (cell.data, cell.model)


def test_customary_values_are_kept_exactly_where_they_are_better_on_validation_nodes(found):
    quick, compared = named_budget("quick"), 0
    for name in ("table2-knn", "table2-learned", "table3"):
        table, known = load_table(name), KnownRuns(RecordsFolder(RESULTS, name).read())
        for place in table.cells:
            if place.model == "s2gnn" or place.source not in ("searched", "transferred", "kept"):
                continue
            searched = found["cora" if place.data == "pubmed" else place.data, place.model]
            cells = [
                table.cell(replace(place, values=values), table.protocols[-1], quick)
                for values in (place.values, {} if place.values else searched)
            ]
            runs = [known.runs(cell, quick) for cell in cells]
            if cells[0].config_hash != cells[1].config_hash and all(runs):
                ours, theirs = (np.mean([of[seed].metrics["val_accuracy"] for seed in cells[0].seeds]) for of in runs)
                assert ours > theirs, (name, place.data, place.model)
                compared += 1
    assert compared > 30
