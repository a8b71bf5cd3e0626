import pytest

from s2gnn.experiments.findings import findings, headline
from s2gnn.experiments.table import load_table
from tests.experiments.test_table_result import FAIR, write, write_three_models


@pytest.fixture
def folder(tmp_path):
    return write_three_models(tmp_path)


def test_first_places_and_leads_are_counted(folder):
    text = findings(folder)
    assert (
        "Accuracy on k-NN graphs: on 1 data sets (cancer-b) S2-GNN is the first of the 2 to 3 models run with one "
        "budget, by the mean over all their seeds: `released` 1, `fair` 0 times; in the paper 1 times, without mlp.\n"
        in text
    )
    assert "Accuracy on learned graphs: S2-GNN and others have not been run yet." in text
    assert "| gcn | +22.08 | +34.00 | +1.00 | 1 | 0 / 1 / 0 |" in text
    assert "| mlp | – | – | – | 0 | – |" in text
    assert "proteins" not in text  # their scores are no accuracies


def test_models_that_the_paper_has_no_number_for_are_named(tmp_path):
    for name, data in (("table3", "cora"), ("table3", "pubmed"), ("graph-classification", "mutag")):
        table = load_table(name)
        for protocol in table.protocols:
            write(tmp_path, data, "s2gnn", protocol, [80.0, 81.0], table=table)
            write(tmp_path, data, "gcn", protocol, [70.0, 71.0], table=table)
    text = findings(tmp_path)
    assert "`fair-citation` 2 times; in the paper 1 times, without mlp and supergat (pubmed).\n" in text
    assert "`fair-graphs` 1 times; in the paper 0 times, without mlp and sign.\n" in text


def test_the_headline_compares_on_the_seeds_that_all_models_have(folder):
    write(folder, "har", "s2gnn", FAIR, [90.0, 80.0, 10.0])
    write(folder, "har", "gcn", FAIR, [80.0, 85.0])
    write(folder, "har", "mlp", FAIR, [99.0, 99.0], budget="long")
    text = headline(folder)
    rows = {row.split(" | ")[0]: row.split(" | ") for row in text.splitlines() if row.startswith("| ")}
    har = rows["| accuracy (%)"].index("har")
    assert [rows[f"| {model}"][har] for model in ("s2gnn", "gcn", "mlp")] == ["**85.0**", "82.5", "–"]
    assert "2 to 3 seeds that all models have, budget quick, commit abc." in text
