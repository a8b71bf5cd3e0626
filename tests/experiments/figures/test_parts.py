from dataclasses import asdict, replace

import pytest

from s2gnn.experiments.experiment import make_experiment
from s2gnn.experiments.figures import parts as study
from s2gnn.experiments.protocols import BUDGETS
from s2gnn.render import render


def run(accuracy, mib, epochs=10):
    return {
        "seed": 1,
        "test_accuracy": accuracy,
        "val_accuracy": accuracy,
        "bytes": mib * 2**20,
        "seconds": 5.0,
        "epochs": epochs,
        "cut": 0.25,
    }


def row(network, division, *runs):
    values = {"model": {"alpha": 6, "fusion": "mlp"}}
    division = asdict(division)
    return {
        "data": "cora",
        "network": network,
        "model": "s2gnn" if network == "S2-GNN" else "clustergcn",
        "division": division,
        "hyperparameters": values,
        "runs": list(runs),
    }


CONTENT = {
    "budget": "quick",
    "seeds": 2,
    "epochs": 500,
    "patience": 100,
    "protocol": "fair-citation",
    "threads": 2,
    "kernel": "torch",
    "rows": [
        row("S2-GNN", study.FULL, run(0.80, 100), run(0.82, 110)),
        row("S2-GNN", study.FEW, run(0.78, 60), run(0.80, 60)),
        row("S2-GNN", replace(study.MANY, degrees="part"), run(0.70, 20), run(0.70, 20)),
        row("ClusterGCN", study.FULL, run(0.9, 50), run(0.9, 50)),
    ],
}


def test_the_table_and_what_it_says():
    text = render(study.STUDY.tabulate(CONTENT), "text")
    assert "81.00 ± " in text
    assert "0.500" in text  # seconds per epoch
    sentence = " ".join(text.split())
    assert "S2-GNN reaches 81.00 % with 105 MiB on the full graph." in sentence
    assert "(10 clusters, 1 per batch, full-graph degrees) reach 79.00 % with 60 MiB" in sentence
    assert "lowest memory (50 clusters, 5 per batch, batch degrees) 70.00 % with 20 MiB" in sentence
    assert "The most accurate row is ClusterGCN, full graph." in sentence
    assert "hyperparameters as in Table III, except α = 6 and the mlp fusion of S2-GNN" in sentence


def test_the_picture_names_every_row_once():
    accuracy, memory = study.STUDY.draw(CONTENT).axes
    assert [label.get_text().replace("\n", " ") for label in accuracy.get_yticklabels()] == [
        "S2-GNN",
        "full graph",
        "10 clusters, 1 per batch, full-graph degrees",
        "50 clusters, 5 per batch, batch degrees",
        "ClusterGCN",
        "full graph",
    ]
    assert [bar.get_width() for bar in memory.patches] == [105, 60, 20, 50]
    assert [text.get_text().strip() for text in memory.texts] == ["105", "60", "20", "50"]
    assert accuracy.get_title() == "Cora: test accuracy (%), 95 % interval"


@pytest.mark.parametrize(
    "division", [study.FULL, study.FEW, study.NETWORKS[0].divisions[-1]], ids=lambda division: division.batches
)
def test_a_run_is_trained_and_measured(division, data_folder, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path_factory.getbasetemp() / "parts-cache"))
    protocol = replace(study.FAIR_CITATION, epochs=12)
    found = study.run_division(make_experiment("cora", "clustergcn", protocol, seeds=1), division, threads=1)
    assert found["epochs"] == 12
    assert 0.5 < found["test_accuracy"] < 1
    assert 2**20 < found["bytes"] < 2**29
    assert (found["cut"] > 0) == (division.batches == "metis")


def test_every_run_has_a_separate_process_and_the_budget_chooses_seeds_and_epochs(tmp_path, monkeypatch):
    asked, chosen = [], []

    def in_own_process(task, experiment, division, threads):
        assert task is study.run_division
        asked.append((experiment.model, division, experiment.seeds, experiment.protocol.epochs))
        chosen.append(experiment.hyperparameters.model)
        return run(0.8, 32)

    monkeypatch.setattr(study, "in_own_process", in_own_process)
    study.STUDY.run(tmp_path, "s2gnn study run parts", ["cora"], BUDGETS["smoke"])
    content = study.STUDY.json(tmp_path)["content"]
    places = [(network.model, division) for network in study.NETWORKS for division in network.divisions]
    assert [one[:2] for one in asked] == places
    assert {one[2:] for one in asked} == {((study.TEST_SEEDS[0],), 20)}
    assert len(content["rows"]) == len(places)
    ours, of_the_table = chosen[0], chosen[len(study.NETWORKS[0].divisions)]
    assert (ours["alpha"], ours["fusion"]) == (4, "mlp")
    assert (of_the_table["alpha"], of_the_table["fusion"]) == (1, "linear")
