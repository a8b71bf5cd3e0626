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


def test_of_equally_common_budgets_the_most_thorough(folder):
    for model in ("gcn", "mlp", "s2gnn"):
        write(folder, "har", model, FAIR, [80.0, 80.0, 80.0])
        write(folder, "har", model, FAIR, [90.0], budget="long")
    found = result(folder).shown[cell("har", "gcn"), "fair"]
    assert (found.budget, found.most_seeds) == ("long", "quick")
