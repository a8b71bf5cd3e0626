import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from s2gnn import InputError
from s2gnn.links import hits_at, link_scores

# Few different values, so that many are equal.
LOGITS = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=40)


@given(LOGITS, LOGITS)
def test_against_scikit_learn(positive, negative):
    found = link_scores(positive, negative)
    labels = [1] * len(positive) + [0] * len(negative)
    assert found.roc_auc == pytest.approx(roc_auc_score(labels, positive + negative), abs=1e-12)
    assert found.average_precision == pytest.approx(average_precision_score(labels, positive + negative), abs=1e-12)


@pytest.fixture(scope="module")
def evaluator():
    """OGB's evaluator of link prediction, for any K."""
    linkproppred = pytest.importorskip("ogb.linkproppred", reason="needs ogb: pip install 's2gnn[ogb]'")

    def hits(k, positive, negative):
        judge = linkproppred.Evaluator(name="ogbl-collab")
        judge.K = k
        return judge.eval({"y_pred_pos": np.array(positive), "y_pred_neg": np.array(negative)})[f"hits@{k}"]

    return hits


@pytest.mark.parametrize("k", [1, 2, 7, 20, 50])
def test_hits_are_those_of_ogb(evaluator, k):
    rng = np.random.default_rng(k)
    for _ in range(50):
        positive, negative = (rng.integers(-5, 6, size=rng.integers(1, 60)).astype(float) for _ in range(2))
        assert hits_at(k, positive, negative) == pytest.approx(evaluator(k, positive, negative), abs=1e-12)


def test_hits_by_hand():
    positive, negative = [0.9, 0.5, 0.4, 0.1], [0.8, 0.5, 0.3, 0.2]
    assert [hits_at(k, positive, negative) for k in (1, 2, 3, 4, 5)] == [0.25, 0.25, 0.75, 0.75, 1.0]
    scores = link_scores(torch.tensor(positive), torch.tensor(negative), hits=(2, 3))
    assert scores.hits == {2: 0.25, 3: 0.75}


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: link_scores([], [1.0]), r"`positive` has shape \(0,\), expected at least one finite logit"),
        (lambda: link_scores([1.0], [np.nan]), "`negative` has shape"),
        (lambda: link_scores([[1.0]], [1.0]), r"`positive` has shape \(1, 1\)"),
        (lambda: hits_at(0, [1.0], [1.0]), "k is 0, but it must be an integer >= 1"),
    ],
)
def test_unusable_logits(call, text):
    with pytest.raises(InputError, match=text):
        call()
