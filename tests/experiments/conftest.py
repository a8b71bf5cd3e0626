from types import SimpleNamespace

import pytest

from s2gnn.experiments.tasks import Classification


@pytest.fixture(autouse=True)
def _separate_cache(tmp_path_factory, monkeypatch):
    """Keep the graphs of these tests apart from the user's."""
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path_factory.getbasetemp() / "experiments-cache"))


@pytest.fixture
def db(tmp_path):
    return tmp_path / "search.db"


@pytest.fixture
def scored(monkeypatch):
    """Score by a function of the values of a trial and the seed instead of training; the list of what was scored."""
    asked = []

    def use(score):
        def fake_fit(self, seed):
            values = self.experiment.hyperparameters.values
            asked.append((values["lr"], seed))
            return SimpleNamespace(validation=score(values, seed))

        monkeypatch.setattr(Classification, "fit", fake_fit)
        return asked

    return use
