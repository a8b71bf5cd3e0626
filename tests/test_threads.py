"""Limits of the number of threads."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_info, threadpool_limits

from s2gnn import S2GNNClassifier
from s2gnn.estimator import transductive
from s2gnn.threads import computing_with


def _threads() -> set[int]:
    return {torch.get_num_threads(), *(pool["num_threads"] for pool in threadpool_info())}


def test_a_limit_covers_torch_blas_and_openmp_and_ends_with_the_block():
    with threadpool_limits(2), computing_with(2):
        before = _threads()
        with computing_with(1):
            assert _threads() == {1}
        assert _threads() == before
        with pytest.raises(ZeroDivisionError), computing_with(1):
            1 / 0  # noqa: B018
        assert _threads() == before


@pytest.mark.parametrize(("most", "expected"), [(20_000, 1), (149, 2)])
def test_small_tables_are_learned_with_one_thread(monkeypatch, most, expected):
    seen = []
    train = transductive.train_ensemble

    def observed(*args, **kwargs):
        seen.append(torch.get_num_threads())
        return train(*args, **kwargs)

    monkeypatch.setattr(transductive, "train_ensemble", observed)
    monkeypatch.setattr(transductive, "ONE_THREAD_ROWS", most)
    X, y = load_iris(return_X_y=True)
    with computing_with(2):
        S2GNNClassifier(max_epochs=2, random_state=0).fit(X, np.where(np.arange(150) % 10 == 0, y, -1))
        assert torch.get_num_threads() == 2
    assert set(seen) == {expected}
