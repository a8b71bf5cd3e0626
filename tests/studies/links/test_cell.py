from dataclasses import replace

import numpy as np
import pytest
import torch

from s2gnn import Graph, InputError
from s2gnn.data import Dataset
from s2gnn.graphs import diffuse
from s2gnn.learning.protocol import FAIR
from s2gnn.learning.records import Records
from s2gnn.links import LinkPredictor, fit_links, link_scores, predict_links, split_links
from s2gnn.nn.baselines.gcn import GCN
from s2gnn.studies import make_cell, run_cell
from s2gnn.studies.links import make_link_cell
from tests.random_graphs import random_graph

SHORT = replace(FAIR, epochs=4)
SEEDS = (7, 8)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A small network in place of Cora; graphs are kept apart from the user's."""
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path / "cache"))
    graph = random_graph(40, 0.2)
    x = np.random.default_rng(0).normal(size=(40, 6))
    dataset = Dataset("cora", x, np.arange(40) % 7, tuple("abcdefg"), graph, "made", np.ones(40, dtype=bool))
    monkeypatch.setattr("s2gnn.studies.links.cell.load_dataset", lambda name: dataset)
    return dataset


def cell(model="gcn", graph="given", decoder="dot", **changes):
    return make_link_cell(
        "cora", model, graph, decoder, protocol=SHORT, changes={"hidden_channels": 8, **changes}, seeds=SEEDS
    )


def test_a_run_is_the_split_the_fit_and_the_scores(small, tmp_path):
    found = cell(decoder="mlp", dropout=0.0)
    result = run_cell(found, Records(tmp_path / "links.jsonl"))
    for seed, record in result.records.items():
        split = split_links(small.graph, seed)
        model = LinkPredictor(GCN(6, 8, 16, dropout=0.0), "mlp", 16)
        x, op = model.prepare(small.x, split.graph)
        trained = fit_links(model, x, op, split, config=replace(SHORT.fit_config(0.01, 5e-4), monitor="auc"), seed=seed)
        positive, negative = (predict_links(model, x, op, p) for p in (split.test.positive, split.test.negative))
        scores = link_scores(positive, negative)
        assert record.metrics == {
            "test_roc_auc": scores.roc_auc,
            "test_average_precision": scores.average_precision,
            **{f"test_hits@{k}": hits for k, hits in scores.hits.items()},
            "val_roc_auc": max(trained.history.val_auc),
            "epoch": trained.best_epoch,
        }
    assert result.metric == "test_roc_auc"
    again = run_cell(found, Records(tmp_path / "links.jsonl"), on_progress=lambda _: pytest.fail("nothing is left"))
    assert again == result


@pytest.mark.parametrize("graph", ["given", "diffusion"])
def test_the_encoder_is_given_nothing_but_training_edges(small, tmp_path, monkeypatch, graph):
    seen = []
    prepare = GCN.prepare
    monkeypatch.setattr(GCN, "prepare", lambda self, x, graph: seen.append(graph) or prepare(self, x, graph))
    run_cell(cell(graph=graph), Records(tmp_path / "links.jsonl"))
    trained = [split_links(small.graph, seed).graph for seed in SEEDS]
    assert seen == (trained if graph == "given" else [diffuse(g, 0.05, 128) for g in trained])
    assert all(isinstance(g, Graph) and g.n_nodes == 40 for g in seen)


def test_a_cell_of_links_is_another_one_than_that_of_nodes():
    links, nodes = cell(), make_cell("cora", "gcn", SHORT, graph="given", changes={"hidden_channels": 8}, seeds=SEEDS)
    assert links.config_hash != nodes.config_hash
    assert links.config == {**nodes.config, "task": "links", "decoder": "dot", "channels": 16}
    assert cell(decoder="mlp").config_hash != links.config_hash
    assert links.title == "cora given gcn, dot decoder"
    assert isinstance(links.new_predictor(5), torch.nn.Module)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: cell(graph="knn"), "the kind of graph is 'knn', but it must be one of given, diffusion: links are"),
        (lambda: cell(decoder="cosine"), "decoder is 'cosine'"),
        (
            lambda: make_link_cell("mutag", "gcn", "given", "dot"),
            "mutag has many graphs, but links are",
        ),
        (lambda: cell("gnc"), "there is no model 'gnc'"),
        (lambda: cell(alpha=3), "gcn has no hyperparameter 'alpha'"),
        (lambda: make_link_cell("cora", "gcn", "given", "dot", channels=0), "out_channels is 0"),
    ],
)
def test_unusable_cells(call, text):
    with pytest.raises(InputError, match=text):
        call()


def test_what_cannot_be_run(small, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="jobs is 2, but the seeds .* are trained one by one"):
        run_cell(cell(), Records(tmp_path / "links.jsonl"), jobs=2)
    monkeypatch.setattr("s2gnn.studies.links.cell.load_dataset", lambda name: replace(small, graph=None))
    with pytest.raises(InputError, match="cora has no given graph, but links are predicted in one"):
        run_cell(cell(), Records(tmp_path / "links.jsonl"))
