import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from sklearn.metrics import roc_auc_score

from s2gnn import InputError
from s2gnn.learning.metrics import accuracy, bootstrap_confidence, compare_paired, holm, macro_f1, mean_roc_auc


def test_accuracy_and_macro_f1_by_hand():
    y, predicted = [0, 0, 0, 1, 2], [0, 0, 1, 1, 0]
    assert accuracy(y, predicted) == 0.6
    assert macro_f1(y, predicted) == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)


@given(
    hnp.arrays(int, (9, 4), elements=st.integers(0, 1)),
    hnp.arrays(np.float64, (9, 4), elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0])),
)
def test_mean_roc_auc_is_scikit_learns_over_labels_with_both_classes(y, scores):
    with_curve = [label for label in range(4) if 0 < y[:, label].sum() < 9]
    if not with_curve:
        with pytest.raises(InputError, match="no label has both"):
            mean_roc_auc(y, scores)
        return
    expected = np.mean([roc_auc_score(y[:, label], scores[:, label]) for label in with_curve])
    assert mean_roc_auc(y, scores) == pytest.approx(expected, abs=1e-12)


def test_mean_roc_auc_is_that_of_ogb():
    nodeproppred = pytest.importorskip("ogb.nodeproppred", reason="needs ogb: pip install 's2gnn[ogb]'")
    evaluator = nodeproppred.Evaluator(name="ogbn-proteins")
    rng = np.random.default_rng(4)
    y = (rng.random((300, 112)) < rng.uniform(0, 0.1, 112)).astype(int)
    y[:, :3] = [0, 1, 0]  # no curve: OGB leaves these labels out, too
    y[0, 2] = 1
    scores = (rng.normal(size=y.shape) + y).round(1)  # many are equal
    theirs = evaluator.eval({"y_true": y, "y_pred": scores})["rocauc"]
    assert mean_roc_auc(y, scores) == pytest.approx(theirs, abs=1e-12)
    with_curve = [label for label in range(112) if 0 < y[:, label].sum() < 300]
    assert len(with_curve) < 112


def test_bootstrap_confidence():
    scores = np.random.default_rng(1).normal(0.9, 0.02, size=50)
    confidence = bootstrap_confidence(scores)
    assert confidence.mean == pytest.approx(scores.mean())
    assert confidence.n == 50
    assert confidence == bootstrap_confidence(list(scores)[::-1])
    assert confidence.half_width != bootstrap_confidence(scores, seed=1).half_width
    # For 50 scores the bootstrapped means are nearly normal with the deviation of the scores divided by the root of 50.
    assert confidence.half_width == pytest.approx(1.96 * scores.std() / np.sqrt(50), rel=0.12)
    drawn = stats.bootstrap((scores,), np.mean, n_resamples=20_000, method="percentile", rng=0).confidence_interval
    expected = max(scores.mean() - drawn.low, drawn.high - scores.mean())
    assert confidence.half_width == pytest.approx(expected, rel=0.1)


def test_bootstrap_of_equal_scores_or_one_has_no_width():
    assert bootstrap_confidence([0.5]).half_width == 0
    assert bootstrap_confidence([0.25] * 7).half_width == 0


def test_paired_comparison_is_scipys():
    rng = np.random.default_rng(2)
    first, second = rng.normal(0.9, 0.02, size=(2, 30))
    compared = compare_paired(dict(enumerate(first)), dict(reversed(list(enumerate(second)))))
    student = stats.ttest_rel(first, second)
    interval = student.confidence_interval(0.95)
    assert compared.n == 30
    assert compared.mean_difference == pytest.approx(np.mean(first - second))
    assert (compared.low, compared.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    assert compared.p_t == pytest.approx(student.pvalue)
    assert compared.p_wilcoxon == pytest.approx(stats.wilcoxon(first, second).pvalue)


def test_the_detectable_difference_is_found_four_times_out_of_five():
    rng = np.random.default_rng(3)
    differences = rng.normal(0.0, 1.0, size=(4000, 10))
    zeros = dict.fromkeys(range(10), 0.0)
    detectable = np.mean([compare_paired(dict(enumerate(row)), zeros).detectable for row in differences])
    found = stats.ttest_1samp(differences + detectable, 0.0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.03)
    assert compare_paired({1: 0.5}, {1: 0.4}).detectable is None


def test_equivalence_is_the_90_percent_interval_inside_the_margin():
    rng = np.random.default_rng(4)
    decided = []
    for mean in (0.0, 0.4, 0.7, -0.5, 1.5):
        differences = rng.normal(mean, 0.6, 10)
        p = compare_paired(dict(enumerate(differences)), dict.fromkeys(range(10), 0.0)).p_equivalent(1.0)
        low, high = stats.ttest_1samp(differences, 0.0).confidence_interval(0.9)
        assert (p < 0.05) == (low > -1 and high < 1)
        decided.append(p < 0.05)
    assert 0 < sum(decided) < len(decided)
    assert compare_paired({1: 0.5, 2: 0.5}, {1: 0.5, 2: 0.5}).p_equivalent(1.0) == 0.0
    assert compare_paired({1: 2.5, 2: 2.5}, {1: 0.5, 2: 0.5}).p_equivalent(1.0) == 1.0
    assert compare_paired({1: 0.5}, {1: 0.5}).p_equivalent(1.0) is None


def test_holms_correction():
    # The example of Holm's method in R: p.adjust(c(0.01, 0.02, 0.03, 0.04), "holm") is 0.04 0.06 0.06 0.06.
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@pytest.mark.parametrize(
    ("differences", "low", "p_t", "p_wilcoxon"),
    [
        ([0.0] * 5, 0.0, None, 1.0),
        ([0.1] * 5, 0.1, None, 2 * 0.5**5),
        ([0.0], None, None, 1.0),
        ([0.1], None, None, 1.0),
    ],
)
def test_degenerate_comparisons(differences, low, p_t, p_wilcoxon):
    second = dict.fromkeys(range(len(differences)), 0.3)
    compared = compare_paired({seed: 0.3 + difference for seed, difference in enumerate(differences)}, second)
    assert compared.low == (None if low is None else pytest.approx(low))
    assert compared.high == compared.low
    assert compared.p_t is p_t
    assert compared.p_wilcoxon == pytest.approx(p_wilcoxon)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: accuracy([0, 1], [0]), r"labels have shape \(2,\) and predictions \(1,\)"),
        (lambda: macro_f1([], []), "expected the same, not empty"),
        (lambda: mean_roc_auc([[0, 2]], [[0.1, 0.2]]), r"values \[0 2\], expected 0 and 1"),
        (lambda: mean_roc_auc([[0], [1]], [[0.1], [np.nan]]), "scores has NaN"),
        (lambda: bootstrap_confidence([]), r"the scores have shape \(0,\)"),
        (lambda: bootstrap_confidence([np.nan]), "expected at least one finite number"),
        (lambda: compare_paired({1: 0.5}, {2: 0.5}), "seed 1 has a score of one model only"),
        (lambda: compare_paired({}, {}), "there is no seed"),
        (lambda: compare_paired({7: np.nan}, {7: 0.5}), "the score of seed 7 is not finite"),
    ],
)
def test_unusable_scores(call, message):
    with pytest.raises(InputError, match=message):
        call()
