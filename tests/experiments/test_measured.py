import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.experiments.figures import stability
from s2gnn.experiments.figures.stability import RATIOS, SETTINGS, draw_example
from s2gnn.experiments.measured import MeasuredStudy
from s2gnn.experiments.protocols import BUDGETS
from s2gnn.experiments.registry import studies
from s2gnn.render import render

RESULTS = Path(__file__).parents[2] / "results"
STUDIES = {name: study for name, study in studies().items() if isinstance(study, MeasuredStudy)}


def test_a_measured_study_writes_numbers_and_pictures(tmp_path, monkeypatch):
    monkeypatch.setattr(stability, "SEEDS", 2)
    said = []
    study = STUDIES["stability"]
    study.run(tmp_path, "s2gnn study run stability", report=said.append)
    assert said == ["erdos-renyi", *(setting.label for setting in SETTINGS)]
    record = study.read(tmp_path)
    assert record["command"] == "s2gnn study run stability"
    assert len(record["content"]["rows"]) == len(SETTINGS) * len(RATIOS)
    rows = list(csv.reader((tmp_path / "stability.csv").read_text(encoding="utf-8").splitlines()))
    assert rows[0][:3] == ["", "SNR (dB)", "distance"]
    assert len(rows) == 1 + len(SETTINGS) * len(RATIOS)
    assert (tmp_path / "stability.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "stability.svg").read_text()
    before = (tmp_path / "stability.svg").read_bytes()
    study.run(tmp_path, "s2gnn study run stability", report=said.append)
    assert (tmp_path / "stability.svg").read_bytes() == before
    assert "s2gnn study run stability; commit" in render(study.table(tmp_path), "text")


def test_a_part_does_not_replace_the_whole(tmp_path):
    rows = [{"data": name, "sparsity": [99.0] * 5} for name in ("cancer-b", "har")]
    (tmp_path / "sparsity.json").write_text(json.dumps({"content": {"rows": rows}}))
    with pytest.raises(InputError, match="sparsity.json has more data sets .cancer-b, har.: choose another folder"):
        STUDIES["sparsity"].run(tmp_path, "s2gnn study run sparsity", ("har",))
    with pytest.raises(InputError, match="stability has no data set 'har': choose from erdos-renyi"):
        STUDIES["stability"].run(tmp_path, "s2gnn study run stability", ("har",))


def test_a_study_with_usual_data_sets_measures_these_and_loses_no_other(tmp_path):
    given = []
    study = replace(STUDIES["sparsity"], measure=lambda at: given.append(at.data) or [], usual=("har",))
    study.run(tmp_path, "s2gnn study run sparsity")
    study.run(tmp_path, "s2gnn study run sparsity", ("isolet",))
    assert given == ["har", "isolet"]
    rows = [{"data": name, "sparsity": [99.0] * 5} for name in ("cancer-b", "har")]
    (tmp_path / "sparsity.json").write_text(json.dumps({"content": {"rows": rows}}))
    with pytest.raises(InputError, match="or name them all with --data cancer-b,har"):
        study.run(tmp_path, "s2gnn study run sparsity")


@pytest.fixture
def by_model():
    """A study of two models on two data sets, and what it measured."""
    given = []

    def measure(at):
        given.append((at.data, at.model))
        yield {"sparsity": [99.0] * 5}

    return replace(STUDIES["sparsity"], measure=measure, data=("har", "isolet"), models=("gcn", "gat")), given


def test_a_study_of_models_is_stored_after_each_and_resumes(tmp_path, by_model):
    study, given = by_model

    def interrupted(at):
        if given:
            raise KeyboardInterrupt
        return study.measure(at)

    with pytest.raises(KeyboardInterrupt):
        replace(study, measure=interrupted).run(tmp_path, "s2gnn study run sparsity")
    assert [(row["data"], row["model"]) for row in study.json(tmp_path)["content"]["rows"]] == [("har", "gcn")]
    study.run(tmp_path, "s2gnn study run sparsity", ("isolet",), models=("gat",))
    study.run(tmp_path, "s2gnn study run sparsity")
    assert given == [("har", "gcn"), ("isolet", "gat"), ("har", "gat"), ("isolet", "gcn")]
    rows = study.json(tmp_path)["content"]["rows"]
    assert [(row["data"], row["model"]) for row in rows] == [
        ("har", "gcn"), ("har", "gat"), ("isolet", "gcn"), ("isolet", "gat"),
    ]  # fmt: skip
    assert render(study.table(tmp_path), "text").rstrip().endswith(f"commit {rows[0]['commit']}.")
    with pytest.raises(InputError, match="sparsity has no model 'gin': .* Choose from gcn, gat"):
        study.run(tmp_path, "s2gnn study run sparsity", models=("gin",))


def test_a_model_is_measured_again_where_what_it_depends_on_has_changed(tmp_path, by_model):
    study, given = by_model
    study.run(tmp_path, "s2gnn study run sparsity")
    del given[:]
    changed = replace(study, depends_on=lambda folder, data, model: {"lr": 0.1} if model == "gat" else {})
    changed.run(tmp_path, "s2gnn study run sparsity", ("har",))
    changed.run(tmp_path, "s2gnn study run sparsity", ("har",))
    assert given == [("har", "gat")]
    assert len(study.json(tmp_path)["content"]["rows"]) == 4
    replace(study, settings=lambda _: {"seeds": (1, 2)}).run(tmp_path, "s2gnn study run sparsity", ("har",))
    assert len(study.json(tmp_path)["content"]["rows"]) == 2  # those with other settings are gone


def test_no_model_starts_after_the_time_limit(tmp_path, by_model):
    study, given = by_model
    study.run(tmp_path, "s2gnn study run sparsity", minutes=0)
    assert (given, study.read(tmp_path)) == ([], None)


def test_damaged_and_missing_records(tmp_path):
    study = STUDIES["stability"]
    assert "No record yet: s2gnn study run stability" in render(study.table(tmp_path), "markdown")
    (tmp_path / "stability.json").write_text(json.dumps({"content": {"rows": [{}]}}))
    with pytest.raises(InputError, match="stability.json is damaged .*: regenerate it with s2gnn study run stability"):
        study.table(tmp_path)


def test_a_damaged_record_can_be_measured_again(tmp_path, monkeypatch):
    monkeypatch.setattr(stability, "SEEDS", 1)
    (tmp_path / "stability.json").write_text("{")
    STUDIES["stability"].run(tmp_path, "s2gnn study run stability")
    assert len(STUDIES["stability"].frame(tmp_path)) == len(SETTINGS) * len(RATIOS)


def test_a_budget_is_refused_where_it_has_no_effect(tmp_path):
    with pytest.raises(InputError, match="--budget has no effect on sparsity: omit it"):
        STUDIES["sparsity"].run(tmp_path, "s2gnn study run sparsity", budget=BUDGETS["quick"])


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.name)
def test_stored_records_load_as_table_figure_and_frame(study):
    content = study.json(RESULTS)["content"]
    assert study.table(RESULTS).blocks
    assert study.draw is None or study.draw(content).axes
    assert len(study.frame(RESULTS)) == len(content["rows"])


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: f"{setting.panel} {setting.label}")
def test_the_full_bound_holds_on_every_seed_and_setting(setting):
    for snr in RATIOS:
        for seed in range(100):
            theorem, lemma = draw_example(setting, snr, seed)
            assert theorem.distance <= theorem.full * (1 + 1e-12)
            assert lemma.distance <= lemma.full * (1 + 1e-12)


def test_stored_sparsity_and_homophily_are_the_papers_where_the_data_is():
    rows = {row["data"]: row for row in STUDIES["sparsity"].read(RESULTS)["content"]["rows"]}
    np.testing.assert_allclose(rows["cancer-m"]["sparsity"], [99.17, 94.05, 82.48, 67.67, 52.55], atol=0.005)
    np.testing.assert_allclose(rows["cancer-b"]["sparsity"], [96.63, 80.33, 53.8147, 29.32, 12.46], atol=0.005)
    found = {
        (row["data"], row["graph"]): [round(value["homophily"], 4) for value in row["values"]]
        for row in STUDIES["homophily"].read(RESULTS)["content"]["rows"]
    }
    assert found["cancer-b", "knn"] == [0.8625, 0.8447, 0.8334, 0.8230]
    assert found["cancer-m", "knn"] == [0.6267, 0.5954, 0.5765, 0.5629]
    assert found["cancer-b", "smooth"][1:] == [0.8670, 0.8568, 0.8463]
    np.testing.assert_allclose(found["cancer-m", "smooth"], [0.6534, 0.6242, 0.6054, 0.5921], atol=0.0006)
