import json
from dataclasses import replace
from importlib import resources

import pytest

from s2gnn import InputError
from s2gnn.learning.records import Record, Records
from s2gnn.render import render
from s2gnn.studies.budget import BUDGETS
from s2gnn.studies.links import LINKS
from s2gnn.studies.links.results import METRICS, links_json, links_layout, stored_links
from s2gnn.studies.links.table import parse_links
from s2gnn.studies.part import Part
from s2gnn.studies.registry import study_layout

CONFIGURATION = (resources.files("s2gnn.studies.links") / "links.toml").read_text(encoding="utf-8")
QUICK = BUDGETS["quick"]


def row(model, graph="given", decoder="dot"):
    return next(r for r in LINKS.rows if r.key == (model, graph, decoder))


def write(folder, found, scores, budget=QUICK, validated=90.0):
    cell = LINKS.cell("cora", found, budget, seeds=len(scores))
    for seed, score in zip(cell.seeds, scores, strict=True):
        metrics = {metric: (score - place) / 100 for place, metric in enumerate(METRICS)}
        metrics["val_roc_auc"] = validated / 100
        Records(folder / "links.jsonl").append(
            Record(cell.config_hash, seed, cell.config, metrics, 36.0, {"name": budget.name}, "2024", "abc", {})
        )


@pytest.mark.parametrize("budget", [budget for budget in BUDGETS.values() if not budget.trials])
def test_every_cell_can_be_constructed(budget):
    cells = list(LINKS.cells(budget))
    assert len(cells) == len(LINKS.rows) * 3 == len({cell.config_hash for cell in cells})
    assert {cell.protocol.epochs for cell in cells} == {budget.epochs}
    sizes = {(c.hyperparameters.lr, c.hyperparameters.model["hidden_channels"], c.channels) for c in cells}
    assert sizes == {(0.01, 32, 16)}


def test_the_auto_encoder_stands_beside_what_its_authors_printed():
    assert {name for r in LINKS.rows for name in r.published} == {"cora", "citeseer", "pubmed"}
    assert row("gcn").published["cora"] == {"test_roc_auc": 91.0, "test_average_precision": 92.0}
    assert sum(bool(r.published) for r in LINKS.rows) == 1


def test_the_table_shows_what_is_on_record(tmp_path):
    assert "No run yet: s2gnn study run links" in render(study_layout("links", tmp_path), "text")
    write(tmp_path, row("s2gnn, linear fusion"), [93.0, 94.0, 95.0], validated=91.0)
    write(tmp_path, row("s2gnn, mlp fusion"), [96.0, 97.0, 98.0])  # better in the test, not in validation
    write(tmp_path, row("gcn"), [91.0, 93.0, 92.0])
    write(tmp_path, row("gcn", "diffusion"), [90.0], BUDGETS["smoke"])  # never shown
    write(tmp_path, row("mlp"), [80.0, 81.5, 82.0])
    result = stored_links(tmp_path)
    assert result.at("cora", row("gcn"), "test_hits@20").score.mean == pytest.approx(90.0)
    lead = result.lead("cora", row("gcn"))
    assert (lead.n, lead.mean_difference) == (3, pytest.approx(2.0))
    assert result.lead("cora", row("s2gnn, mlp fusion")) is None
    text = render(links_layout(result), "markdown")
    ours = next(line for line in text.splitlines() if line.startswith("| gcn | given | dot"))
    assert "92.00 ± 1.00" in ours
    assert "| 91.0, 92.0 | +2.00 (3 seeds, p = 0.074) | 3 | quick |" in ours
    assert (
        "cora: of 2 comparisons of ROC-AUC with another encoder, with the same decoder and on the same graph, or the "
        "given one where it sees none, S2-GNN is ahead in 1 (mlp, dot), behind in 0, undecided in the rest (p < 0.05, "
        "not corrected for their number)."
    ) in text
    assert "12 runs, 0.1 hours of training: s2gnn study run links --budget quick (3 seeds). Commit abc." in text
    part = render(links_layout(stored_links(tmp_path, Part(["cora"], ["gcn"]))), "markdown")
    assert ours in part
    assert "\n| mlp" not in part
    assert "3 runs, 0.0 hours of training" in part
    stored = links_json(result)["rows"]
    assert len(stored) == 3 * len(LINKS.rows)
    assert json.loads(json.dumps(stored)) == stored


def test_the_whole_study_from_the_command_line(s2gnn, tmp_path, monkeypatch, data_folder):
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path / "cache"))
    short = replace(BUDGETS["smoke"], epochs=2)
    monkeypatch.setattr("s2gnn.studies.budget.named_budget", {"smoke": short}.get)
    run = ("study", "run", "links", "--data", "cora", "--models", "gcn,mlp", "--budget", "smoke", "--results", tmp_path)
    table = LINKS.chosen(("cora",), ("gcn", "mlp"))
    given = tuple(r for r in table.rows if r.graph == "given")
    monkeypatch.setattr("s2gnn.cli.study_runs.LINKS", replace(LINKS, rows=given))
    code, out, err = s2gnn(*run)
    assert code == 0, err
    assert "links, budget smoke: 4 runs to train" in err
    assert "0.0 hours of training" in out
    records = Records(tmp_path / "links.jsonl").read()
    assert [(r.config["model"], r.config["decoder"]) for r in records] == [r.key[::2] for r in given]
    assert all(0.4 < r.metrics["test_roc_auc"] <= 1 for r in records)
    code, out, err = s2gnn(*run, "--json")
    assert "every run of 4 cells is on record" in err
    assert [found["encoder"] for found in json.loads(out)["rows"]] == ["gcn", "gcn", "mlp", "mlp"]
    code, out, _ = s2gnn("study", "show", tmp_path / "links.jsonl", "--format", "json")
    summary = json.loads(out)[0]
    assert (summary["metric"], summary["changed"]["decoder"], summary["published"]) == ("test_roc_auc", "dot", None)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--models", "gat"), "links has no model 'gat': choose from s2gnn, gcn, mlp"),
        (("--data", "har"), "links has no data set 'har': choose from cora, citeseer, pubmed"),
        (("--protocol", "fair"), "--protocol means nothing to links"),
        (("--storage", "x.db"), "--storage means nothing to links"),
    ],
)
def test_what_the_study_cannot_do(s2gnn, tmp_path, arguments, text):
    code, out, err = s2gnn("study", "run", "links", *arguments, "--results", tmp_path)
    assert (code, out) == (2, "")
    assert text in err


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('"pubmed"]', '"pubmde"]', "there is no data set 'pubmde'"),
        ('decoder = "mlp"', 'decoder = "dot"', "links has a row twice"),
    ],
)
def test_a_wrong_configuration_is_refused(old, new, text):
    with pytest.raises(InputError, match=text):
        parse_links(CONFIGURATION.replace(old, new))
