from dataclasses import replace

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.data import TEST_SEEDS, load_collection
from s2gnn.learning.protocol import FAIR_GRAPHS, RELEASED_GRAPHS, TEN_FOLD
from s2gnn.learning.records import Record, Records
from s2gnn.nn import GraphClassifier
from s2gnn.render import render
from s2gnn.search import SearchConfig, search
from s2gnn.studies import make_cell, run_cell
from s2gnn.studies.budget import BUDGETS
from s2gnn.studies.registry import studies
from s2gnn.studies.results import table_result
from s2gnn.studies.run import data_of, materials, split_of
from s2gnn.studies.summary import summaries
from s2gnn.studies.table import load_table
from s2gnn.studies.view import table_layout

SHORT = {"epochs": 2}


@pytest.fixture(autouse=True)
def _own_cache(data_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("protocol", [RELEASED_GRAPHS, TEN_FOLD], ids=lambda protocol: protocol.name)
def test_a_cell_on_mutag_is_run_and_recorded(tmp_path, protocol):
    records = Records(tmp_path / "r.jsonl")
    cell = make_cell("mutag", "s2gnn", replace(protocol, **SHORT), seeds=2)
    result = run_cell(cell, records, threads=1)
    assert list(result.records) == list(TEST_SEEDS[:2] if protocol.folds is None else (0, 1))
    tested = len(split_of(cell, load_collection("mutag"), cell.seeds[0]).test)
    for record in result.records.values():
        right = record.metrics["test_accuracy"] * tested
        assert right == pytest.approx(round(right))
    (summary,) = summaries(records)
    assert summary.published == ((73.60, 1.46) if protocol.folds is None else None)


def test_the_papers_split_of_graphs_is_10_45_45():
    collection = load_collection("mutag")
    split = split_of(make_cell("mutag", "gcn", "released-graphs"), collection, TEST_SEEDS[0])
    assert [len(part) for part in (split.train, split.val, split.test)] == [18, 85, 85]


def test_a_step_sees_the_training_graphs_only():
    cell = make_cell("mutag", "gcn", RELEASED_GRAPHS, seeds=1)
    collection, graphs = data_of(cell)
    config, data = materials(cell, collection, graphs)
    model = config.model()
    assert isinstance(model, GraphClassifier)
    train = split_of(cell, collection, cell.seeds[0]).train
    x, op = data.x.part(data.op, train)
    assert op.n_nodes == graphs.sizes[train].sum() < graphs.graph.n_nodes / 5
    assert model(x, op).shape == (18, 2)


def test_pooling_is_a_hyperparameter():
    mean, attention = (make_cell("mutag", "gcn", FAIR_GRAPHS, changes=c) for c in ({}, {"pooling": "attention"}))
    assert mean.config_hash != attention.config_hash
    assert sum(p.numel() for p in attention.new_model(7, 2).parameters()) == 3 + sum(
        p.numel() for p in mean.new_model(7, 2).parameters()
    )
    with pytest.raises(InputError, match="pooling is 'median'"):
        make_cell("mutag", "gcn", FAIR_GRAPHS, changes={"pooling": "median"})


def test_a_learned_epsilon_is_recorded(tmp_path):
    cell = make_cell("mutag", "s2gnn", replace(TEN_FOLD, **SHORT), changes={"epsilon": "learn"}, seeds=1)
    (record,) = run_cell(cell, Records(tmp_path / "r.jsonl"), threads=1).records.values()
    assert 0 < record.metrics["epsilon"] != 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("cora", "gcn", "ten-fold"), "ten-fold is for graphs that are classified, but cora has nodes"),
        (("mutag", "svm", "fair-graphs"), "svm is for nodes of one graph, but mutag has many graphs"),
    ],
)
def test_what_does_not_fit_together_is_named(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        make_cell(*arguments)
    with pytest.raises(InputError, match=r"seeds is 11, but it must be 1\.\.10, the number of folds"):
        make_cell("mutag", "gcn", TEN_FOLD, seeds=11)
    with pytest.raises(InputError, match="the kind of graph is 'knn', but the graphs of mutag are diffusion or given"):
        make_cell("mutag", "gcn", FAIR_GRAPHS, graph="knn")


def test_folds_are_not_searched_on(tmp_path):
    cell = make_cell("mutag", "gcn", TEN_FOLD)
    with pytest.raises(InputError, match="would choose hyperparameters by graphs that other folds test on"):
        search(cell, SearchConfig("random", 2), tmp_path / "s.db")


def test_the_table_of_folds_has_their_standard_deviation_and_no_paper(tmp_path):
    table = load_table("graph-classification-ten-fold").chosen(("mutag",), ("s2gnn", "gcn"))
    records = Records(tmp_path / "r.jsonl")
    scores = {"s2gnn": np.linspace(0.7, 0.9, 10), "gcn": np.full(10, 0.75)}
    for place in table.cells:
        cell = table.cell(place, table.protocols[0], BUDGETS["long"])
        for seed, score in zip(cell.seeds, scores[place.model], strict=True):
            metrics = {"test_accuracy": float(score), "epoch": 1}
            records.append(Record(cell.config_hash, seed, cell.config, metrics, 1.0, {"epochs": 500}, "now", "abc", {}))
    text = render(table_layout(table_result(table, records)), "markdown")
    assert f"**80.00 ± {100 * scores['s2gnn'].std():.2f}**" in text
    assert "+5.00 (10 folds, p = " in text
    assert "paper (%)" not in text
    assert "mean over those of the 10 stratified folds that were run ± their standard deviation" in text
    assert "--budget long (10 folds)" in text


def test_both_studies_are_listed():
    sizes = {study.name: study.size for study in studies()}
    assert sizes["graph-classification"] == "11 models × 3 data sets × 2 protocols"
    assert sizes["graph-classification-ten-fold"] == "11 models × 3 data sets × 10 folds"
