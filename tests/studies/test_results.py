import json
from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats

from s2gnn.cli.study import render_section
from s2gnn.learning.records import Record, Records, RecordsFolder
from s2gnn.render import fill_sections, render
from s2gnn.studies.budget import BUDGETS
from s2gnn.studies.findings import findings, headline
from s2gnn.studies.part import Part
from s2gnn.studies.registry import stored_table, study_layout
from s2gnn.studies.results import table_result
from s2gnn.studies.table import Column, load_table
from s2gnn.studies.view import table_json, table_layout

ROOT = Path(__file__).parents[2]
TABLE = load_table("table2-knn")
RELEASED, FAIR = TABLE.protocols
CANCER, HAR = Column("cancer-b", "knn"), Column("har", "knn")


def place(data, model, table=TABLE):
    return next(cell for cell in table.cells if (cell.data, cell.model) == (data, model))


def write(folder, data, model, protocol, accuracies, budget="quick", table=TABLE, **changes):
    cell = table.cell(place(data, model, table), protocol, BUDGETS[budget], seeds=max(len(accuracies), 1))
    cell = replace(cell, hyperparameters=cell.hyperparameters.with_values(changes))
    for seed, accuracy in zip(cell.seeds, accuracies, strict=True):
        metrics = {"test_accuracy": accuracy / 100, "epoch": 3}
        cost = {"name": budget, "epochs": 500, "threads": 1}
        Records(folder / f"{table.name}.jsonl").append(
            Record(cell.config_hash, seed, cell.config, metrics, 36.0, cost, "2024-01-01", "abc", {"torch": "2"})
        )


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, "cancer-b", "s2gnn", RELEASED, [93.0, 94.0, 95.0])
    write(tmp_path, "cancer-b", "gcn", RELEASED, [60.0, 50.0, 70.0])
    write(tmp_path, "cancer-b", "gcn", FAIR, [92.0, 92.5, 94.5])
    write(tmp_path, "cancer-b", "mlp", FAIR, [97.0, 96.0, 98.0])
    return tmp_path


def test_places_are_ranked_by_their_mean(folder):
    result = stored_table("table2-knn", folder)
    assert result.ranking(CANCER, RELEASED) == ["s2gnn", "gcn"]
    assert result.ranking(CANCER, FAIR) == ["mlp", "s2gnn", "gcn"]
    assert result.ranking(HAR, FAIR) == []


def test_the_lead_is_a_paired_test_on_common_seeds(folder):
    lead = stored_table("table2-knn", folder).lead(CANCER, FAIR, "gcn")
    assert lead.mean_difference == pytest.approx(1.0)
    assert lead.p_t == pytest.approx(stats.ttest_rel([93, 94, 95], [92, 92.5, 94.5]).pvalue)
    assert stored_table("table2-knn", folder).lead(HAR, FAIR, "gcn") is None


def test_a_lead_is_taken_under_one_budget(folder):
    write(folder, "cancer-b", "s2gnn", RELEASED, [90.0] * 20, budget="long")
    result = stored_table("table2-knn", folder)
    assert result.at(place("cancer-b", "s2gnn"), FAIR).most_seeds == "long"
    lead = result.lead(CANCER, FAIR, "gcn")
    assert (lead.n, lead.mean_difference) == (3, pytest.approx(1.0))
    write(folder, "cancer-b", "sgc", FAIR, [80.0, 81.0], budget="long")
    assert stored_table("table2-knn", folder).lead(CANCER, FAIR, "sgc").mean_difference == pytest.approx(9.5)
    write(folder, "har", "s2gnn", RELEASED, [90.0] * 3, budget="long")
    write(folder, "har", "gcn", FAIR, [80.0] * 3, budget="quick")
    assert stored_table("table2-knn", folder).lead(HAR, FAIR, "gcn") is None


def test_a_column_shows_the_budget_that_most_models_have(folder):
    write(folder, "cancer-b", "s2gnn", RELEASED, [99.0] * 20, budget="long")  # more seeds, but nobody else has them
    write(folder, "cancer-b", "sgc", FAIR, [99.5] * 3, budget="long")
    result = stored_table("table2-knn", folder)
    assert result.budgets[CANCER, "fair"] == "quick"
    assert result.at(place("cancer-b", "s2gnn"), FAIR).score.mean == pytest.approx(94.0)
    assert result.at(place("cancer-b", "sgc"), FAIR).budget == "long"  # shown, as it has nothing else, but not ranked
    assert result.ranking(CANCER, FAIR) == ["mlp", "s2gnn", "gcn"]
    text = render(table_layout(result), "markdown")
    assert "| s2gnn | *94.00 ± 1.00* | *94.00 ± 1.00* |" in text.replace("**94.00 ± 1.00**", "*94.00 ± 1.00*")
    assert "| s2gnn, long | 99.00 ± 0.00 | 99.00 ± 0.00 | 93.39 ± 0.41 | +5.61 | +5.61 | – | 20 | long |" in text
    commands = (
        "s2gnn study run table2-knn --budget quick (3 seeds); s2gnn study run table2-knn --budget long (3 to 20 seeds)"
    )
    assert f"35 runs, 0.3 hours of training: {commands}. Commit abc." in text
    measured = table_json(result)["cells"][place_number("cancer-b", "s2gnn")]["measured"]["fair"]
    assert {name: found["score"]["n"] for name, found in measured["budgets"].items()} == {"quick": 3, "long": 20}


def place_number(data, model):
    return TABLE.cells.index(place(data, model))


def test_of_equally_common_budgets_the_most_thorough(folder):
    for model in ("gcn", "mlp", "s2gnn"):
        write(folder, "har", model, FAIR, [80.0, 80.0, 80.0])
        write(folder, "har", model, FAIR, [90.0], budget="long")
    assert stored_table("table2-knn", folder).at(place("har", "gcn"), FAIR).budget == "long"
    assert stored_table("table2-knn", folder).at(place("har", "gcn"), FAIR).most_seeds == "quick"


def test_after_a_search_the_hyperparameters_are_what_it_found(folder):
    write(folder, "har", "gcn", FAIR, [91.0, 92.0, 93.0], budget="full", lr=0.0123)
    found = stored_table("table2-knn", folder).at(place("har", "gcn"), FAIR)
    assert (found.budget, found.score.mean) == ("full", pytest.approx(92.0))


def test_the_headline_compares_on_the_seeds_that_all_have(folder):
    write(folder, "har", "s2gnn", FAIR, [90.0, 80.0, 10.0])
    write(folder, "har", "gcn", FAIR, [80.0, 85.0])
    write(folder, "har", "mlp", FAIR, [99.0, 99.0], budget="long")
    rows = {row.split(" | ")[0]: row.split(" | ") for row in headline(folder).splitlines() if row.startswith("| ")}
    har = rows["| accuracy (%)"].index("har")
    assert [rows[f"| {model}"][har] for model in ("s2gnn", "gcn", "mlp")] == ["**85.0**", "82.5", "–"]
    assert "2 to 3 seeds that all have, budget quick, commit abc." in headline(folder)


def test_smoke_is_not_shown(tmp_path):
    write(tmp_path, "har", "gcn", FAIR, [99.0], budget="smoke")
    assert stored_table("table2-knn", tmp_path).at(place("har", "gcn"), FAIR).score is None
    shown = table_result(TABLE, RecordsFolder(tmp_path, "table2-knn"), [BUDGETS["smoke"]])
    assert shown.at(place("har", "gcn"), FAIR).score.mean == pytest.approx(99.0)


def test_measured_beside_published_and_released_beside_fair(folder):
    text = render(table_layout(stored_table("table2-knn", folder)), "markdown")
    assert (
        "| gcn | *60.00 ± 10.00* | 93.00 ± 1.50 | 71.31 ± 5.72 | -11.31 | +21.69 | +1.00 (3 seeds, p = 0.074) | 3 |"
        in text
    )
    assert (
        "| s2gnn | **94.00 ± 1.00** | *94.00 ± 1.00* | 93.39 ± 0.41 | +0.61 | +0.61 | – | 3 | quick | published |"
        in text
    )
    assert (
        "| mlp | – | **97.00 ± 1.00** | – | – | – | -3.00 (3 seeds, p = 0.035) | – / 3 | – / quick | searched |" in text
    )
    assert "12 runs, 0.1 hours of training: s2gnn study run table2-knn --budget quick (3 seeds). Commit abc." in text


def test_the_numbers_for_a_program(folder):
    cells = {(cell["data"], cell["model"]): cell for cell in table_json(stored_table("table2-knn", folder))["cells"]}
    measured = cells["cancer-b", "gcn"]["measured"]["fair"]
    assert measured["score"]["mean"] == pytest.approx(93.0)
    assert measured["s2gnn_leads"]["n"] == 3
    assert cells["har", "gcn"]["measured"]["fair"]["score"] is None
    json.dumps(cells["har", "gcn"], allow_nan=False)


def test_findings_count_first_places_and_leads(folder):
    text = findings(folder)
    assert (
        "Accuracy on k-NN graphs: on 1 data sets (cancer-b) S2-GNN is the first of the 2 to 3 models run with one "
        "budget, by the mean over all their seeds: `released` 1, `fair` 0 times; in the paper 1 times, without mlp.\n"
        in text
    )
    assert "Accuracy on learned graphs: S2-GNN and others have not been run yet." in text
    assert "| gcn | +22.08 | +34.00 | +1.00 | 1 | 0 / 1 / 0 |" in text
    assert "| mlp | – | – | – | 0 | – |" in text


def test_findings_name_the_models_that_the_paper_has_no_number_for(tmp_path):
    for name, data in (("table3", "cora"), ("table3", "pubmed"), ("graph-classification", "mutag")):
        table = load_table(name)
        for protocol in table.protocols:
            write(tmp_path, data, "s2gnn", protocol, [80.0, 81.0], table=table)
            write(tmp_path, data, "gcn", protocol, [70.0, 71.0], table=table)
    text = findings(tmp_path)
    assert "`fair-citation` 2 times; in the paper 1 times, without mlp and supergat (pubmed).\n" in text
    assert "`fair-graphs` 1 times; in the paper 0 times, without mlp and sign.\n" in text


def test_without_records_everything_is_a_dash(tmp_path):
    text = render(study_layout("table3", tmp_path), "markdown")
    assert "| gcn | – | – | 70.22 ± 2.91 | – | – | – | – | – |" in text
    assert "No run yet with budget quick, long, full: s2gnn study run table3" in text


def test_a_part_is_compared_with_the_whole(folder):
    write(folder, "cancer-b", "s2gnn", RELEASED, [90.0] * 20, budget="long")
    text = render(study_layout("table2-knn", folder, Part(data=["cancer-b"], models=["gcn"])), "markdown")
    assert "| gcn | *60.00 ± 10.00* | 93.00 ± 1.50 |" in text
    assert "| +1.00 (3 seeds, p = 0.074) |" in text
    assert "s2gnn study run table2-knn --budget quick (3 seeds). Commit abc." in text


def test_a_part_of_a_table(folder):
    write(folder, "har", "gcn", FAIR, [99.0], budget="smoke")
    part = Part(data=["har"], models=["gcn"], budgets=[BUDGETS["smoke"]])
    text = render(study_layout("table2-knn", folder, part), "markdown")
    assert text.count("| gcn |") == 1
    assert "99.00" in text
    assert "s2gnn study run table2-knn --budget smoke (1 seed). Commit abc." in text


@pytest.mark.parametrize(
    "page",
    [
        "docs/results.md",
        "docs/gallery.md",
        "docs/estimator.md",
        "docs/graph-classification.md",
        "docs/howto/links.md",
        "README.md",
    ],
)
def test_the_pages_show_the_records(page):
    text = (ROOT / page).read_text()
    shown = fill_sections(text, lambda name: render_section(ROOT / "results", name))
    assert shown == text, f"run: s2gnn study document {page}"


def test_proteins_are_scored_by_roc_auc_and_the_stand_in_is_named(tmp_path):
    table = load_table("table3-proteins")
    for model, auc in (("s2gnn", 0.7), ("gcn", 0.6)):
        found = next(cell for cell in table.cells if (cell.data, cell.model) == ("ppi-human", model))
        cell = table.cell(found, table.protocols[1], BUDGETS["quick"])
        for seed in cell.seeds:
            metrics = {"test_roc_auc": auc, "val_roc_auc": auc, "epoch": 3}
            cost = {"name": "quick", "epochs": 500, "threads": 1}
            Records(tmp_path / "table3-proteins.jsonl").append(
                Record(cell.config_hash, seed, cell.config, metrics, 36.0, cost, "2024-01-01", "abc", {"torch": "2"})
            )
    result = stored_table("table3-proteins", tmp_path)
    human, ogbn = table.columns
    assert result.ranking(human, table.protocols[1]) == ["s2gnn", "gcn"]
    assert result.ranking(ogbn, table.protocols[1]) == []
    assert result.lead(human, table.protocols[1], "gcn").mean_difference == pytest.approx(10)
    text = render(table_layout(result), "markdown")
    assert "**ppi-human, given: human protein interactions, a stand-in for ogbn-proteins**" in text
    assert "Test mean ROC-AUC over the labels, mean over seeds" in text
    stand_in, original = text.split("**ogbn-proteins, given")
    assert "70.26 ± 4.08" in original
    assert "70.26" not in stand_in  # the paper's numbers are not those of the stand-in
    assert "proteins" not in findings(tmp_path)
