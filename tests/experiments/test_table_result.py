import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from s2gnn.experiments import BUDGETS
from s2gnn.experiments.halving import Search
from s2gnn.experiments.queue import missing_jobs
from s2gnn.experiments.records import Records, RecordsFolder
from s2gnn.experiments.registry import find_study
from s2gnn.experiments.study import ALL, Selection
from s2gnn.experiments.table import load_table
from s2gnn.experiments.table_scores import Column
from s2gnn.render import Cell, render
from tests.experiments.made_records import append, made_record

RESULTS = Path(__file__).parents[2] / "results"
TABLE = load_table("table2-knn")
RELEASED, FAIR = TABLE.protocols
CANCER, HAR = Column("cancer-b", "knn"), Column("har", "knn")


def cell(data, model, table=TABLE, **others):
    return next(
        found
        for found in table.cells
        if (found.data, found.model) == (data, model) and all(getattr(found, n) == v for n, v in others.items())
    )


def write(folder, data, model, protocol, accuracies, budget="quick", table=TABLE, of=None, **metrics):
    experiment = table.experiment(of or cell(data, model, table), protocol, BUDGETS[budget], len(accuracies))
    append(folder / f"{table.name}.jsonl", experiment, accuracies, budget, **metrics)


def result(folder, name="table2-knn", selection=ALL):
    return find_study(name).result(folder, selection)


def markdown(folder, name="table2-knn", selection=ALL):
    return render(find_study(name).table(folder, selection), "markdown")


def ranking(folder, column, protocol, name="table2-knn"):
    return [found.model for found in result(folder, name).ranking(column, protocol)]


def write_three_models(folder):
    """Runs of S2-GNN, GCN and MLP on cancer-b."""
    write(folder, "cancer-b", "s2gnn", RELEASED, [93.0, 94.0, 95.0])
    write(folder, "cancer-b", "gcn", RELEASED, [60.0, 50.0, 70.0])
    write(folder, "cancer-b", "gcn", FAIR, [92.0, 92.5, 94.5])
    write(folder, "cancer-b", "mlp", FAIR, [97.0, 96.0, 98.0])
    return folder


@pytest.fixture
def folder(tmp_path):
    return write_three_models(tmp_path)


def test_a_column_shows_the_budget_that_most_models_have(folder):
    write(folder, "cancer-b", "s2gnn", RELEASED, [99.0] * 20, budget="long")  # more seeds, but no other model has them
    write(folder, "cancer-b", "sgc", FAIR, [99.5] * 3, budget="long")
    found = result(folder)
    assert found.scores(cell("cancer-b", "s2gnn"), FAIR).mean == pytest.approx(94.0)
    sgc = found.shown[cell("cancer-b", "sgc"), "fair"]
    assert (sgc.budget, sgc.ranked) == ("long", False)  # shown, as it has nothing else
    assert ranking(folder, CANCER, FAIR) == ["mlp", "s2gnn", "gcn"]
    text = markdown(folder)
    assert "| S2-GNN, long | 99.00 ± 0.00 | 99.00 ± 0.00 | 93.39 ± 0.41 | no | – | 20 | long |" in text
    commands = (
        "s2gnn study run table2-knn --budget quick (3 seeds); s2gnn study run table2-knn --budget long (3 to 20 seeds)"
    )
    assert f"35 runs, 0.3 hours of training: {commands}. Commit abc." in text
    cells = find_study("table2-knn").json(folder)["cells"]
    measured = cells[TABLE.cells.index(cell("cancer-b", "s2gnn"))]["measured"]["fair"]
    assert {name: of["score"]["n"] for name, of in measured["budgets"].items()} == {"quick": 3, "long": 20}


def test_a_column_is_ranked_under_the_most_thorough_budget_of_most_models(folder):
    write(folder, "cancer-b", "s2gnn", RELEASED, [90.0] * 3, budget="long")
    write(folder, "cancer-b", "mlp", FAIR, [91.0] * 3, budget="long")
    assert ranking(folder, CANCER, FAIR) == ["mlp", "s2gnn"]
    compact = result(folder).compact()
    assert compact.header[:2] == ("model", "Cancer-B")
    assert {row[0].text: row[1] for row in compact.blocks[0].rows if row[1].text != "–"} == {
        "MLP": Cell("91.00 ± 0.00", 1),
        "S2-GNN": Cell("90.00 ± 0.00", 2),
        "GCN": Cell("93.00 ± 1.50 †"),
    }
    assert compact.notes[0] == "† Another budget than the other models; not ranked."


def test_smoke_is_shown_only_on_request(folder):
    write(folder, "har", "gcn", FAIR, [99.0], budget="smoke")
    assert result(folder).scores(cell("har", "gcn"), FAIR).mean is None
    text = markdown(folder, selection=Selection(["har"], ["gcn"], budgets=[BUDGETS["smoke"]]))
    assert (text.count("| GCN |"), "99.00" in text) == (1, True)
    everything = result(folder, selection=Selection(budgets=[BUDGETS["smoke"]])).table()
    assert [[row[0].text for row in block.rows] for block in everything.blocks] == [["GCN"]]
    command = "s2gnn study run table2-knn --data har --models gcn --budget smoke (1 seed)"
    assert f"1 run, 36 s of training: {command}. Commit abc." in text


@pytest.mark.parametrize("name", ["table2-knn", "epsilon"])
def test_smoke_runs_that_are_the_only_ones_are_mentioned(tmp_path, name):
    study = find_study(name)
    note = f"The only runs are smoke runs: s2gnn study show {name} --budget smoke"
    assert note not in study.table(tmp_path).notes
    for cell in study.cells[:2]:
        experiment = study.experiment(cell, study.protocols[0], BUDGETS["smoke"])
        append(tmp_path / f"{name}.jsonl", experiment, [90.0], "smoke")
    assert study.table(tmp_path).notes[-1] == note


def test_measured_next_to_published_and_released_next_to_fair(folder):
    rows = (
        "| GCN | *60.00 ± 10.00* | 93.00 ± 1.50 | 71.31 ± 5.72 | – | +1.00 (-0.24 to +2.24), undecided | 3 |",
        "| S2-GNN | **94.00 ± 1.00** | *94.00 ± 1.00* | 93.39 ± 0.41 | – | – | 3 | quick | published |",
        "| MLP | – | **97.00 ± 1.00** | – | – | -3.00 (-5.48 to -0.52), undecided | – / 3 | – / quick | searched |",
        "12 runs, 0.1 hours of training: s2gnn study run table2-knn --budget quick (3 seeds). Commit abc.",
    )
    text = markdown(folder)
    assert [row in text for row in rows] == [True] * 4
    part = markdown(folder, selection=Selection(["cancer-b"], ["gcn"]))  # still compared with the others
    assert rows[0] in part
    assert "| MLP |" not in part


def test_without_records_everything_is_a_dash(tmp_path):
    text = markdown(tmp_path, "table3")
    assert "| GCN | – | – | 70.22 ± 2.91 | – | – | – | – |" in text
    assert "No runs yet with budget quick, long, standard, full: s2gnn study run table3" in text


def test_the_json_fields_that_programs_rely_on(folder):
    content = json.loads(json.dumps(find_study("table2-knn").json(folder), allow_nan=False))
    assert content.keys() >= {"study", "title", "paper", "metric", "cells"}
    cells = {(of["data"], of["model"]): of for of in content["cells"]}
    gcn = cells["cancer-b", "gcn"]
    assert {name: gcn[name] for name in ("graph", "paper", "hyperparameters")} == {
        "graph": "knn",
        "paper": [71.31, 5.72],
        "hyperparameters": "searched",
    }
    measured = gcn["measured"]["fair"]
    assert measured["score"] == {"mean": pytest.approx(93.0), "half_width": pytest.approx(1.5), "n": 3}
    assert list(measured["scores"].values()) == pytest.approx([92.0, 92.5, 94.5])
    assert (measured["s2gnn_leads"]["n"], measured["budget"], measured["commits"]) == (3, "quick", ["abc"])
    assert cells["har", "gcn"]["measured"]["fair"]["score"] is None
    assert (measured["hyperparameters"], cells["har", "gcn"]["measured"]["fair"]["hyperparameters"]) == (
        "searched",
        None,
    )
    assert measured["values"]["num_layers"] == 2
    assert cells["har", "gcn"]["measured"]["fair"]["values"] == {}


def test_a_chebyshev_filter_of_order_one_is_marked(folder):
    write(folder, "cancer-b", "cheby", RELEASED, [82.0, 83.0, 84.0])
    write(folder, "cancer-m", "cheby", RELEASED, [60.0, 61.0, 62.0])
    compact = result(folder).compact()
    row = next(row for row in compact.blocks[1].rows if row[0].text == "Cheby")
    assert [row[place].text for place in (1, 2)] == ["83.0 ‡ (82.5)", "61.0 (59.5)"]
    assert "‡ K = 1: ignores the graph, as an MLP does." in compact.notes
    assert "| K = 1, layers = 3, width = 32 (ignores the graph) / – |" in markdown(folder)


def test_failed_trials_of_a_search_are_shown(folder):
    standard = BUDGETS["standard"]
    gat = Search(TABLE.experiment(cell("cancer-b", "gat"), FAIR, standard), standard)
    for trials in (next(gat.rounds({}))[:2], list(gat.rounds({}))[1][:1]):
        for trial in trials:
            made = made_record(trial, trial.seeds[0], 0.0, "standard")
            Records(folder / "searches" / "table2-knn.jsonl").append(replace(made, error="TypeError: no"))
    assert (
        "Failed trials, which have the lowest score of their search: GAT (Cancer-B, k-NN, k = 30, fair) 3, "
        "TypeError: no." in markdown(folder)
    )
    cells = find_study("table2-knn").json(folder)["cells"]
    measured = cells[TABLE.cells.index(cell("cancer-b", "gat"))]["measured"]
    assert [trial["error"] for trial in measured["fair"]["failed_trials"]] == ["TypeError: no"] * 3
    assert (measured["released"]["failed_trials"], measured["fair"]["failed_trials"][0]["seed"]) == ([], trial.seeds[0])
    assert "Failed trials" not in markdown(folder, selection=Selection(models=["gcn"]))


def test_models_that_were_still_improving_are_named_once(tmp_path):
    write(tmp_path, "cancer-b", "s2gnn", FAIR, [90.0] * 3, epoch=499)  # the same runs under both protocols
    write(tmp_path, "cancer-b", "gcn", FAIR, [90.0] * 3, epoch=499)
    note = next(note for note in find_study("table2-knn").table(tmp_path).notes if note.startswith("Still improving"))
    assert note.endswith(": GCN (Cancer-B, k-NN, k = 30, fair); S2-GNN (Cancer-B, k-NN, k = 30, released).")


@pytest.fixture
def ablated(tmp_path):
    """Ahead on one graph beyond doubt, behind on the other graph of that data set, undecided on a third."""
    table = load_table("ablation-hadamard")
    for data, graph, ours in (
        ("cancer-b", "knn", [93.0, 94.1, 95.0]),
        ("cancer-b", "smooth", [88.0, 89.1, 90.0]),
        ("har", "knn", [90.5, 90.9, 92.6]),
    ):
        for model, accuracies in (("no-hadamard", [90.0, 91.0, 92.0]), ("s2gnn", ours)):
            of = cell(data, model, table, graph=graph)
            write(tmp_path, data, model, table.protocols[1], accuracies, table=table, of=of)
    return tmp_path


def test_an_ablation_counts_graphs_next_to_the_papers(ablated):
    found = find_study("ablation-hadamard").json(ablated)["ablation"]
    mean = pytest.approx((9.1 - 5.9 + 1.0) / 9)
    assert found["measured"] == {"graphs": 3, "ahead": 2, "mean": mean}
    assert (found["variant"], found["graphs"], found["ahead"], found["behind"]) == ("no-hadamard", 10, 1, 1)
    assert found["paper"] == {"graphs": 10, "ahead": 9, "mean": pytest.approx(1.247)}
    norm = find_study("ablation-norm").json(ablated)["ablation"]
    assert (norm["measured"], norm["paper"]["ahead"]) == ({"graphs": 0, "ahead": 0, "mean": None}, 8)
    assert "ablation" not in find_study("table2-knn").json(ablated)
    text = markdown(ablated, "ablation-hadamard")
    assert (
        "Mean accuracy of S2-GNN on common seeds is higher than with no Hadamard powers on 2 of the 3 graphs run so "
        "far (of 10), by +0.47 points on average; the difference is significant on 2 (ahead on 1, behind on 1). In the "
        "paper it is higher on 9 of 10 graphs, by +1.25 points on average."
    ) in text
    none = markdown(ablated, "ablation-norm")
    assert "No graph has runs of both S2-GNN and the variant with matrix powers yet. In the paper" in none


def test_the_compact_table_of_an_ablation_compares_one_budget(ablated):
    table = load_table("ablation-hadamard")
    ours = cell("cancer-b", "s2gnn", table, graph="knn")
    write(ablated, "cancer-b", "s2gnn", table.protocols[1], [93.4] * 50, budget="long", table=table, of=ours)
    found = result(ablated, "ablation-hadamard")
    released = {row[0].text: row[1].text for row in found.compact().blocks[1].rows}
    assert released == {"no Hadamard powers": "91.0 (91.2)", "S2-GNN": "94.0 (93.4)"}
    write(ablated, "cancer-b", "s2gnn", RELEASED, [93.4] * 50, budget="long")
    for model in ("gcn", "sgc"):
        write(ablated, "cancer-b", model, RELEASED, [70.0] * 3)
    compact = result(ablated).compact()
    assert next(row for row in compact.blocks[1].rows if row[0].text == "S2-GNN")[1].text == "93.4 † (93.4 ✓)"
    assert compact.notes[0].startswith("† ")


def test_an_ablation_has_a_block_for_each_graph_and_one_run_for_both_protocols(ablated):
    text = markdown(ablated, "ablation-hadamard")
    names = ("Cancer-B, k-NN, k = 30", "Isolet, k-NN, k = 20", "HAR, learned, k = 40")
    headings = [text.index(f"**{name}: ") for name in names]
    assert headings == sorted(headings)
    row = "| no Hadamard powers | *91.00 ± 1.00* | *91.00 ± 1.00* | 91.20 ± 0.50 | – | +3.03 (+2.89 to +3.18), ahead |"
    assert row in text
    assert "| no Hadamard powers | **91.00 ± 1.00** | **91.00 ± 1.00** | 88.49 ± 3.67 |" in text
    assert (text.count("| borrowed |"), text.count("| published |")) == (15, 5)


@pytest.mark.parametrize("name", ["ablation-hadamard", "ablation-norm"])
def test_stored_runs_of_s2gnn_are_found_and_not_trained_again(name):
    ours = result(RESULTS, name)
    for other in ("table2-knn", "table2-learned"):
        theirs = result(RESULTS, other)
        for found in (found for found in theirs.study.cells if found.model == "s2gnn"):
            for protocol in ours.study.protocols:
                shown = theirs.shown[found, protocol.name]
                assert len(shown.runs) >= 3
                mine = ours.find(Column.of(found), "s2gnn")
                assert shown.runs == ours.runs[mine, protocol.name][shown.budget]
    left = missing_jobs(find_study(name).experiments(ALL, BUDGETS["long"]), RecordsFolder(RESULTS, name))
    assert not [job for job in left if (job.experiment.model, job.experiment.graph) == ("s2gnn", "knn")]


def test_folds_have_their_standard_deviation_and_no_paper(tmp_path):
    table = load_table("graph-classification-ten-fold")
    ours = np.linspace(70, 90, 10)
    write(tmp_path, "mutag", "s2gnn", table.protocols[0], ours, "long", table)
    write(tmp_path, "mutag", "gcn", table.protocols[0], [75.0] * 10, "long", table)
    text = markdown(tmp_path, table.name)
    assert f"**80.00 ± {ours.std():.2f}**" in text
    assert "+5.00 (+0.19 to +9.81), ahead" in text
    assert "paper (%)" not in text
    assert "mean ± standard deviation over the folds that were run, of 10 stratified folds" in text
    assert "--budget long (10 folds)" in text


def test_proteins_are_scored_by_roc_auc_and_the_stand_in_has_no_published_number(tmp_path):
    table = load_table("table3-proteins")
    human, ogbn = table.columns
    fair = table.protocols[1]
    for model, auc in (("s2gnn", 0.7), ("gcn", 0.6)):
        write(tmp_path, "ppi-human", model, fair, [0.0] * 3, table=table, test_roc_auc=auc, val_roc_auc=auc)
    assert ranking(tmp_path, human, fair, table.name) == ["s2gnn", "gcn"]
    assert ranking(tmp_path, ogbn, fair, table.name) == []
    lead = result(tmp_path, table.name).lead(cell("ppi-human", "gcn", table), fair)
    assert lead.mean_difference == pytest.approx(10)
    text = markdown(tmp_path, table.name)
    assert "**ppi-human, given: human protein interactions, a stand-in for ogbn-proteins**" in text
    stand_in, original = text.split("**ogbn-proteins, given")
    assert "70.26 ± 4.08" in original
    assert "70.26" not in stand_in


def test_links_show_every_metric_and_lead_by_the_fusion_with_the_best_validation(tmp_path):
    table = load_table("links")
    (protocol,) = table.protocols
    assert "No runs yet with budget quick, long: s2gnn study run links" in markdown(tmp_path, "links")

    def links(label, scores, budget="quick", graph="given", validation=90.0):
        of = next(c for c in table.cells if (c.data, c.label, c.graph, c.decoder) == ("cora", label, graph, "dot"))
        experiment = table.experiment(of, protocol, BUDGETS[budget], len(scores))
        for seed, score in zip(experiment.seeds, scores, strict=True):
            metrics = {name: (score - place) / 100 for place, name in enumerate(table.metrics)}
            record = made_record(experiment, seed, 0.0, budget, val_roc_auc=validation / 100, **metrics)
            Records(tmp_path / "links.jsonl").append(record)
        return of

    links("s2gnn, linear fusion", [93.0, 94.0, 95.0], validation=91.0)
    mlp_fusion = links("s2gnn, mlp fusion", [96.0, 97.0, 98.0])  # better in the test, not in validation
    gcn = links("gcn", [91.0, 93.0, 92.0])
    links("gcn", [91.0], "smoke", "diffusion")  # never shown
    links("mlp", [80.0, 81.5, 82.0])
    found = result(tmp_path, "links")
    assert found.scores(gcn, protocol, "test_hits@20").mean == pytest.approx(90.0)
    lead = found.lead(gcn, protocol)
    assert (lead.n, lead.mean_difference) == (3, pytest.approx(2.0))
    assert found.lead(mlp_fusion, protocol) is None
    text = markdown(tmp_path, "links")
    row = next(line for line in text.splitlines() if line.startswith("| GCN | given | dot"))
    assert "92.00 ± 1.00" in row
    assert "| 91.0, 92.0 | +2.00 (-0.48 to +4.48), undecided | 3 | quick |" in row
    assert "S2-GNN is ahead in 1 (MLP, dot), level in 0, behind in 0, undecided in 1." in text
    assert "Verdicts: ahead and behind are decided by paired t-tests, level (a difference below 1 point) by two" in text
    assert "12 runs, 0.1 hours of training: s2gnn study run links --budget quick (3 seeds). Commit abc." in text
    part = markdown(tmp_path, "links", Selection(["cora"], ["gcn"]))
    assert row in part
    assert "\n| MLP" not in part
    cells = json.loads(json.dumps(find_study("links").json(tmp_path), allow_nan=False))["cells"]
    assert len(cells) == len(table.cells)
    stored = cells[table.cells.index(gcn)]
    assert [stored[name] for name in ("data", "label", "graph", "decoder")] == ["cora", "gcn", "given", "dot"]
    assert stored["published"]["test_roc_auc"] == 91.0
    fair = stored["measured"]["fair"]
    assert (fair["budget"], fair["score"]["mean"]) == ("quick", pytest.approx(92))
    assert fair["metrics"]["test_hits@20"]["score"]["mean"] == pytest.approx(90)
