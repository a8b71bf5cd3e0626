import pytest
from scipy import stats

from tests.experiments.test_table_result import (
    CANCER,
    FAIR,
    HAR,
    RELEASED,
    cell,
    ranking,
    result,
    write,
    write_three_models,
)


@pytest.fixture
def folder(tmp_path):
    return write_three_models(tmp_path)


def test_models_are_ranked_by_their_mean(folder):
    assert ranking(folder, CANCER, RELEASED) == ["s2gnn", "gcn"]
    assert ranking(folder, CANCER, FAIR) == ["mlp", "s2gnn", "gcn"]
    assert ranking(folder, HAR, FAIR) == []


def test_a_lead_is_a_paired_test_on_common_seeds_of_one_budget(folder):
    write(folder, "cancer-b", "s2gnn", RELEASED, [90.0] * 20, budget="long")
    found = result(folder)
    assert found.shown[cell("cancer-b", "s2gnn"), "fair"].most_seeds == "long"
    lead = found.lead(cell("cancer-b", "gcn"), FAIR)
    assert (lead.n, lead.mean_difference) == (3, pytest.approx(1.0))
    assert lead.p_t == pytest.approx(stats.ttest_rel([93, 94, 95], [92, 92.5, 94.5]).pvalue)
    write(folder, "cancer-b", "sgc", FAIR, [80.0, 81.0], budget="long")
    assert result(folder).lead(cell("cancer-b", "sgc"), FAIR).mean_difference == pytest.approx(9.5)
    write(folder, "har", "s2gnn", RELEASED, [90.0] * 3, budget="long")
    write(folder, "har", "gcn", FAIR, [80.0] * 3, budget="quick")
    assert result(folder).lead(cell("har", "gcn"), FAIR) is None


@pytest.mark.parametrize(
    ("accuracies", "verdict"),
    [
        ([71.0, 72.0, 73.0, 71.5, 72.5], "yes"),  # the paper: 71.31 ± 5.72
        ([60.0, 65.0, 62.0, 85.0, 63.0], "compatible"),
        ([63.0, 64.0, 65.0, 66.0, 67.0], "no"),  # the intervals overlap
    ],
)
def test_a_number_is_reproduced_if_the_difference_is_small_and_not_significant(tmp_path, accuracies, verdict):
    write(tmp_path, "cancer-b", "gcn", RELEASED, accuracies, budget="standard")
    found = result(tmp_path)
    assert found.reproduced(cell("cancer-b", "gcn")) == verdict
    mark = {"yes": "✓", "compatible": "?", "no": "✗"}[verdict]
    gcn = next(row for row in found.compact().blocks[1].rows if row[0].text == "GCN")
    assert gcn[1].text.endswith(f"(71.3 {mark})")


def test_of_equally_common_budgets_the_most_thorough(folder):
    for model in ("gcn", "mlp", "s2gnn"):
        write(folder, "har", model, FAIR, [80.0, 80.0, 80.0])
        write(folder, "har", model, FAIR, [90.0], budget="long")
    found = result(folder).shown[cell("har", "gcn"), "fair"]
    assert (found.budget, found.most_seeds) == ("long", "quick")
