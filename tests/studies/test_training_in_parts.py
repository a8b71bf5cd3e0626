from dataclasses import asdict, replace

import numpy as np
import pytest

from s2gnn.pictures import picture
from s2gnn.render import render
from s2gnn.studies import training_in_parts as study
from s2gnn.studies.budget import BUDGETS
from s2gnn.studies.cell import make_cell


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
    return {"data": "cora", "network": network, "division": division, "hyperparameters": values, "runs": list(runs)}


CONTENT = {
    "budget": "quick",
    "seeds": 2,
    "epochs": 500,
    "patience": 100,
    "protocol": "fair-citation",
    "threads": 2,
    "kernel": "torch",
    "rows": [
        row("S2-GNN", study.WHOLE, run(0.80, 100), run(0.82, 110)),
        row("S2-GNN", study.FEW, run(0.78, 60), run(0.80, 60)),
        row("S2-GNN", replace(study.MANY, degrees="part"), run(0.70, 20), run(0.70, 20)),
        row("ClusterGCN", study.WHOLE, run(0.9, 50), run(0.9, 50)),
    ],
}


def test_the_table_and_what_it_says():
    text = render(study.STUDY.layout(CONTENT), "text")
    assert "81.00 ± " in text
    assert "0.500" in text  # seconds an epoch
    sentence = " ".join(text.split())
    assert "S2-GNN on the whole graph has 81.00 % and takes 105 MiB." in sentence
    assert "in parts (10 parts, 1 at a time, degrees of the whole) has 79.00 % and takes 60 MiB" in sentence
    assert "the least memory, 20 MiB, take 50 parts, 5 at a time, degrees of the part, with 70.00 %" in sentence
    assert "the most accurate is ClusterGCN, whole graph" in sentence
    assert "hyperparameters as in Table III, but for α = 6 and the mlp fusion of S2-GNN" in sentence


def test_the_picture_has_every_row():
    assert len(picture(study.STUDY.draw(CONTENT), "png")) > 10_000
    labels = study.STUDY.draw(CONTENT).axes[0].get_legend_handles_labels()[1]
    assert len(labels) == 4


@pytest.mark.parametrize(
    "division", [study.WHOLE, study.FEW, study.NETWORKS[0].divisions[-1]], ids=lambda division: division.batches
)
def test_a_run_is_trained_and_measured(division, data_folder, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path_factory.getbasetemp() / "parts-cache"))
    protocol = replace(study.FAIR_CITATION, epochs=12)
    found = study.run_division(make_cell("cora", "clustergcn", protocol, seeds=1), division, threads=1)
    assert found.epochs == 12
    assert 0.5 < found.test_accuracy < 1
    assert 2**20 < found.bytes < 2**29
    assert (found.cut > 0) == (division.batches == "metis")


def test_every_row_is_measured_in_a_process_of_its_own_with_the_seeds_of_the_budget(monkeypatch):
    asked, chosen = [], []

    def in_own_process(task, cell, division, threads):
        assert task is study.run_division
        asked.append((cell.model, division, cell.seeds, cell.protocol.epochs))
        chosen.append(cell.hyperparameters.model)
        return study.Trained(0.8, 0.8, 2**25, 1.0, 20, 0.1)

    monkeypatch.setattr(study, "in_own_process", in_own_process)
    content = study.measure_within(BUDGETS["smoke"])(["cora"], lambda _: None)
    places = [(network.model, division) for network in study.NETWORKS for division in network.divisions]
    assert [one[:2] for one in asked] == places
    assert {one[2:] for one in asked} == {((study.TEST_SEEDS[0],), 20)}
    assert len(content["rows"]) == len(places)
    ours, of_the_table = chosen[0], chosen[len(study.NETWORKS[0].divisions)]
    assert (ours["alpha"], ours["fusion"]) == (4, "mlp")
    assert (of_the_table["alpha"], of_the_table["fusion"]) == (1, "linear")
    assert np.isfinite([r["runs"][0]["bytes"] for r in content["rows"]]).all()
