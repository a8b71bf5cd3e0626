import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from s2gnn.experiments.figures.overview import OverviewStudy, overview_text
from s2gnn.experiments.figures.overview_findings import overview_sentences
from s2gnn.experiments.figures.overview_statistics import Overview, Ranks
from s2gnn.experiments.protocols import BUDGETS
from s2gnn.experiments.table import load_table
from tests.experiments.made_records import append
from tests.experiments.test_table_result import FAIR, RELEASED, cell, write, write_three_models

RESULTS = Path(__file__).parents[3] / "results"


@pytest.fixture
def folder(tmp_path):
    return write_three_models(tmp_path)


def test_mean_leads_have_an_interval_over_data_sets(folder):
    write(folder, "har", "s2gnn", FAIR, [90.0, 91.0, 92.0])
    write(folder, "har", "gcn", FAIR, [87.0, 86.0, 89.5])
    overview = Overview(folder)
    lead = overview.leads["fair"]["gcn"]
    assert (lead.data_sets, lead.mean, lead.low, lead.text) == (2, pytest.approx(2.25), None, "+2.2")
    write(folder, "isolet", "s2gnn", FAIR, [85.0, 86.0, 87.0])
    write(folder, "isolet", "gcn", FAIR, [85.5, 85.0, 86.0])
    lead = Overview(folder).leads["fair"]["gcn"]
    low, high = stats.ttest_1samp([1.0, 3.5, 0.5], 0.0).confidence_interval(0.95)
    assert (lead.low, lead.high) == (pytest.approx(low), pytest.approx(high))
    assert overview.leads["released"]["gcn"].mean == pytest.approx(34.0)
    paper = overview.leads["paper"]["gcn"]
    assert (paper.graphs, paper.data_sets, overview.leads["paper"]["mlp"]) == (13, 8, None)
    assert overview.verdicts("gcn") == {"cancer-b, knn, k = 30": "undecided", "har, knn, k = 40": "undecided"}


def test_the_graphs_of_one_data_set_count_once(folder):
    learned = load_table("table2-learned")
    for model, accuracies in (("s2gnn", [90.0, 91.0, 92.0]), ("gcn", [87.0, 88.0, 89.0]), ("mlp", [80.0, 81.0, 82.0])):
        write(folder, "cancer-b", model, FAIR, accuracies, table=learned)
    overview = Overview(folder)
    lead = overview.leads["fair"]["gcn"]
    assert (lead.graphs, lead.data_sets, lead.low, lead.mean) == (2, 1, None, pytest.approx((1.0 + 3.0) / 2))
    assert overview.ranks is None  # a test over two graphs of the same rows would take them for independent


def test_what_is_reproduced_is_counted(folder):
    assert overview_sentences(Overview(folder))[0] == "No published number has been run yet."  # three seeds are too few
    low, near = [20.0, 21.0, 22.0, 23.0, 24.0], [62.0, 63.0, 64.0, 65.0, 66.0]
    write(folder, "har", "gcn", RELEASED, near)
    write(folder, "har", "gcn", RELEASED, low, budget="standard")
    write(folder, "isolet", "gcn", RELEASED, low, budget="standard")
    write(folder, "isolet", "sgc", RELEASED, low)
    write(folder, "20news", "gcn", RELEASED, near, budget="standard")
    write(folder, "har", "s2gnn", RELEASED, [93.0, 93.5, 94.0, 94.5, 95.0], budget="quick")
    found = load_table("table2-knn").result(folder)
    cells = {(cell.data, cell.model): found.reproduced(cell) for cell in found.study.cells}
    assert {place: word for place, word in cells.items() if word} == {
        ("har", "gcn"): "other hyperparameters",
        ("isolet", "gcn"): "no",
        ("20news", "gcn"): "yes",
        ("har", "s2gnn"): "yes",
    }
    write(folder, "har", "s2gnn", RELEASED, [90.0 + seed / 10 for seed in range(9)], budget="long")  # more seeds count
    assert overview_sentences(Overview(folder))[0] == (
        "**Reproduction**: 4 of the 126 published accuracies of Table II and of the citation networks of Table III "
        "have enough runs. 1 of them are reproduced under the *released* protocol (S2-GNN: 0 of 1), 1 with other "
        "hyperparameters; for 0 the intervals are too wide to tell; 2 are not reproduced."
    )


def test_data_sets_without_higher_powers_are_counted(folder):
    found = load_table("table2-knn").experiment(cell("har", "s2gnn"), FAIR, BUDGETS["standard"])
    first = replace(found, hyperparameters=found.hyperparameters.with_values({"alpha": 1}))
    append(folder / "table2-knn.jsonl", first, [90.0, 91.0, 92.0], "standard")
    text = next(sentence for sentence in overview_sentences(Overview(folder)) if sentence.startswith("**Powers**"))
    assert text.endswith("has α = 1, so no power above the first, on 1 of 2 data sets: HAR.")


def test_a_verdict_is_in_the_row_of_the_runs_that_decide_it(folder):
    write(folder, "har", "gcn", RELEASED, [20.0, 21.0, 22.0, 23.0, 24.0], budget="standard")
    write(folder, "har", "gcn", RELEASED, [62.0, 63.0, 64.0, 65.0, 66.0, 64.0])
    found = load_table("table2-knn").result(folder)
    table = found.table()
    place = table.header.index("reproduced")
    rows = next(block.rows for block in table.blocks if block.heading.startswith("HAR"))
    verdicts = {row[0].text: (row[1].text.split()[0], row[place].text) for row in rows if row[0].text.startswith("GCN")}
    assert {verdict for _, verdict in verdicts.values()} == {"other hyperparameters", "–"}
    assert next(mean for mean, verdict in verdicts.values() if verdict != "–") == "64.00"
    gcn = next(cell for cell in found.study.cells if (cell.data, cell.model) == ("har", "gcn"))
    assert found.decisive(gcn).mean == 64.0


def test_ranks_of_models_over_graphs():
    scores = {"a": [90.0, 80.0, 70.0, 60.0], "b": [91.0, 80.0, 60.0, 55.0], "c": [80.0, 70.0, 50.0, 40.0]}
    ranks = Ranks.of({name: 3 * of for name, of in scores.items()})
    assert list(ranks.means.items()) == [("a", 1.375), ("b", 1.625), ("c", 3.0)]
    assert (ranks.data_sets, ranks.p) == (
        12,
        pytest.approx(stats.friedmanchisquare(*np.tile(list(scores.values()), 3)).pvalue),
    )
    assert (ranks.near("a"), ranks.near("c")) == (["b"], [])


@pytest.mark.parametrize(("models", "q"), [(3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_is_nemenyis(models, q):
    """Critical values of Demšar (2006), Table 5."""
    scores = np.random.default_rng(0).random((models, 14))
    assert Ranks.of(dict(enumerate(scores))).critical == pytest.approx(
        q * np.sqrt(models * (models + 1) / (6 * 14)), abs=1e-3
    )


def test_without_records_there_is_nothing_to_summarize(tmp_path):
    overview = Overview(tmp_path)
    assert (overview_sentences(overview), overview.ranks) == (["No published number has been run yet."], None)
    assert "| GCN | +15.4 (+10.8 to +20.0) | – | – | – | – |" in overview_text(tmp_path)


def test_the_stored_records_are_summarized_and_drawn(tmp_path):
    content = json.loads(json.dumps(OverviewStudy().json(RESULTS), allow_nan=False))
    assert len(content["sentences"]) == 6
    assert content["ranks"]["data_sets"] == 8
    folder = tmp_path / "results"
    folder.mkdir()
    for name in ("table2-knn", "table2-learned", "table3"):
        (folder / f"{name}.jsonl").write_bytes((RESULTS / f"{name}.jsonl").read_bytes())
    assert OverviewStudy().draw(folder) == ("overview-leads", "overview-ranks")
    assert (folder / "overview-ranks.svg").read_text().count("<!-- S2-GNN ") == 1
