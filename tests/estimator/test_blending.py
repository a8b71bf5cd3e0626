import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from s2gnn.estimator.blending import (
    TEMPERATURE_SPREAD,
    ClassBlend,
    GraphGain,
    ValueBlend,
    blend_weights,
    chosen_per_class,
    class_shares,
    cross_blended,
    fit_temperature,
    tempered,
    value_likelihoods,
)

RNG = np.random.default_rng(0)


def sampled(probabilities):
    """A class drawn from each row of probabilities."""
    return (probabilities.cumsum(axis=1) > RNG.random(len(probabilities))[:, None]).argmax(axis=1)


def test_the_temperature_is_that_of_an_independent_optimisation():
    p = RNG.dirichlet([0.3, 0.3, 0.3], size=80)
    y = sampled(tempered(p, 2.0))

    def loss(log_t):
        q = p ** np.exp(-log_t)
        return (
            -np.log((q / q.sum(axis=1, keepdims=True))[np.arange(80), y]).sum()
            + 0.5 * (log_t / TEMPERATURE_SPREAD) ** 2
        )

    assert fit_temperature(p, y) == pytest.approx(np.exp(minimize_scalar(loss, bracket=(-1, 1)).x), rel=1e-4)


def test_overconfident_probabilities_are_tempered_and_few_labels_change_little():
    p = RNG.dirichlet([0.5, 0.5], size=4000)
    y = sampled(p)
    overconfident = tempered(p, 0.4)
    many, few = fit_temperature(overconfident, y), fit_temperature(overconfident[:6], y[:6])
    assert many == pytest.approx(2.5, rel=0.1)
    assert 0.7 < few < 1.7


def test_weights_maximise_the_penalised_likelihood():
    likelihoods = RNG.uniform(0.05, 1, (3, 50))
    likelihoods[1] *= 0.5

    def loss(z):
        w = np.exp(z) / np.exp(z).sum()
        return -np.log(w @ likelihoods).sum() - np.log(w) @ [2, 4, 1]

    z = minimize(loss, np.zeros(3), tol=1e-10).x
    np.testing.assert_allclose(blend_weights(likelihoods, [2, 4, 1]), np.exp(z) / np.exp(z).sum(), atol=1e-4)


def test_a_useless_member_loses_its_weight_only_with_evidence():
    good, bad = np.full(200, 0.9), np.full(200, 0.1)
    assert blend_weights(np.stack([good, bad]), [2, 2])[1] < 0.05
    assert blend_weights(np.stack([good, bad])[:, :3], [2, 2])[1] > 0.2


def test_values_are_blended_by_their_errors():
    truth = RNG.normal(size=100)
    members = np.stack([truth + RNG.normal(0, 0.1, 100), truth + RNG.normal(0, 2.0, 100)])[:, :, None]
    blend = ValueBlend.fit(members, truth, [2, 2])
    assert blend.weights[0] > 0.9
    np.testing.assert_allclose(blend.apply(members), np.tensordot(blend.weights, members, 1))
    np.testing.assert_allclose(ValueBlend.of_prior([1, 1]).apply(members), members.mean(axis=0))
    perfect = value_likelihoods(np.stack([truth, truth]), truth)
    assert np.isfinite(perfect).all()


def shifted(shares, n=3000):
    """Gaussian classes at ±1 with these shares: exact probabilities under equal shares, and the classes."""
    y = RNG.choice(2, size=n, p=shares)
    x = RNG.normal(2.0 * y - 1)
    p = 1 / (1 + np.exp(-2 * x))
    return np.stack([1 - p, p], axis=1), y


def test_shares_of_classes_are_found_among_unlabelled_rows():
    probabilities, _ = shifted([0.9, 0.1])
    equal = np.array([0.5, 0.5])
    assert class_shares(probabilities, equal, 0.84, 10_000)[1] == pytest.approx(0.1, abs=0.02)
    few = class_shares(probabilities, equal, 0.84, 5)
    assert 0.15 < few[1] < 0.4


@pytest.mark.parametrize(
    ("counts", "expected"),
    [([10, 10], True), ([10, 9], False), ([5, 5, 2], True), ([5, 4, 2], False), ([5, 5, 3, 2], False), ([1, 1], True)],
)
def test_equal_numbers_of_labels_are_taken_for_a_choice(counts, expected):
    assert chosen_per_class(np.array(counts)) is expected


def test_shares_stay_where_labels_tell_nothing():
    probabilities, _ = shifted([0.9, 0.1])
    equal = np.array([0.5, 0.5])
    np.testing.assert_allclose(class_shares(probabilities, equal, 0.5, 100), equal)
    np.testing.assert_allclose(class_shares(probabilities[:0], equal, 0.9, 100), equal)
    one_row = class_shares(probabilities[:1], equal, 0.9, 100)
    assert np.abs(one_row - equal).max() < 0.2


def test_a_blend_is_calibrated_on_other_labels():
    truth_probabilities = RNG.dirichlet([0.5, 0.5, 0.5], size=2000)
    y = sampled(truth_probabilities)
    members = np.stack([tempered(truth_probabilities, 0.3), RNG.dirichlet([1, 1, 1], size=2000)])
    blend = ClassBlend.fit(members[:, :1000], y[:1000], [2, 2])
    answers = blend.apply(members[:, 1000:])
    confidence = answers.max(axis=1)
    assert confidence.mean() == pytest.approx(np.mean(answers.argmax(axis=1) == y[1000:]), abs=0.04)
    assert blend.weights[0] > 0.9
    np.testing.assert_allclose(answers.sum(axis=1), 1)


def test_odds_reweight_classes():
    p = np.array([[[0.5, 0.5], [0.9, 0.1]]])
    blend = ClassBlend((1.0,), (1.0,), 1.0, (1.5, 0.5))
    np.testing.assert_allclose(blend.apply(p), [[0.75, 0.25], [27 / 28, 1 / 28]])
    np.testing.assert_allclose(ClassBlend.of_prior([2], 2).apply(p), p[0])


def test_hidden_labels_are_blended_without_themselves():
    members = RNG.dirichlet([1, 1], size=(3, 20))
    y = RNG.integers(2, size=20)
    before = cross_blended(ClassBlend, members, y, [2, 4, 1], seed=0)
    changed = y.copy()
    changed[4] = 1 - y[4]
    after = cross_blended(ClassBlend, members, changed, [2, 4, 1], seed=0)
    np.testing.assert_array_equal(before[4], after[4])
    assert np.abs(before - after).max() > 1e-6


def test_the_gain_of_pairs():
    base = np.array([True] * 60 + [False] * 40)
    blended = np.array([True] * 55 + [False] * 5 + [True] * 15 + [False] * 25)
    gain = GraphGain.of_hits(blended, base)
    assert (gain.value, gain.rows, gain.measure) == (pytest.approx(0.1), 100, "accuracy")
    # Agresti and Min: half a row more in each of the four cells, then Wald's interval of paired proportions.
    b, c, n = 15.5, 5.5, 102
    centre, deviation = (b - c) / n, np.sqrt(b + c - (b - c) ** 2 / n) / n
    assert (gain.low, gain.high) == (pytest.approx(centre - 1.96 * deviation), pytest.approx(centre + 1.96 * deviation))
    assert gain.sentence == (
        "On 100 hidden labels, the graph improves the accuracy by 10.0 points compared with predicting from the "
        f"columns alone (95 % interval {100 * gain.low:.1f} to {100 * gain.high:.1f} points)."
    )
    same = GraphGain.of_hits(base, base)
    assert same.low < 0 < same.high
    assert "does not change the accuracy" in same.sentence
    assert same.sentence.endswith(f"(95 % interval {100 * same.low:.1f} to {100 * same.high:.1f} points).")
    unsure = GraphGain.of_hits(np.arange(100) < 51, np.arange(100) < 50)
    assert unsure.sentence.endswith("points; the interval includes no effect).")


def test_the_gain_of_errors():
    blended, base = np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0])
    gain = GraphGain.of_errors(blended, base)
    assert gain.value == -1
    assert gain.low < -1 < gain.high
    assert "worsens the mean absolute error by 1 compared" in gain.sentence
    assert "95 % interval of the improvement -" in gain.sentence
