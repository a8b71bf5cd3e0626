"""A short search of an MLP, and how its trials are stored."""

from contextlib import contextmanager
from dataclasses import replace

from s2gnn.data.splits import VALIDATION_SEEDS
from s2gnn.experiments import make_experiment
from s2gnn.experiments.protocols import FAIR
from s2gnn.experiments.search import SearchConfig
from s2gnn.experiments.search_space import search_space
from s2gnn.experiments.search_storage import open_storage

SHORT = replace(FAIR, epochs=3)
EXPERIMENT = make_experiment("digits", "mlp", SHORT, k=10)
RANDOM = SearchConfig("random", trials=4, seeds=VALIDATION_SEEDS[:2])
SPACE = search_space("mlp")


@contextmanager
def opened(storage):
    found = open_storage(storage, 10, 60)
    try:
        yield found
    finally:
        found.remove_session()
        found.engine.dispose()


def stored_trials(storage, study=0):
    """All trials of a study as Optuna stores them, in the order of their numbers."""
    with opened(storage) as found:
        return found.get_all_trials(found.get_all_studies()[study]._study_id)
