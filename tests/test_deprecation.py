from importlib import import_module

import pytest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("s2gnn.studies:make_cell", "s2gnn.experiments:make_experiment"),
        ("s2gnn.search:SearchConfig", "s2gnn.experiments.search:SearchConfig"),
        ("s2gnn.learning.protocol:FAIR", "s2gnn.experiments.protocols:FAIR"),
        ("s2gnn.learning.hyperparameters:PUBLISHED", "s2gnn.experiments.hyperparameters:PUBLISHED"),
        ("s2gnn.learning.records:Records", "s2gnn.experiments.records:Records"),
        ("s2gnn.learning.yardsticks:LabelSpreading", "s2gnn.learning.classical:LabelSpreading"),
    ],
)
def test_documented_names_of_moved_modules_import_with_a_warning(old, new):
    old_module, old_name = old.split(":")
    new_module, new_name = new.split(":")
    with pytest.warns(DeprecationWarning, match=rf"{old_name} is deprecated: use {new_module}\.{new_name}"):
        found = getattr(import_module(old_module), old_name)
    assert found is getattr(import_module(new_module), new_name)


def test_a_name_that_never_was_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        _ = import_module("s2gnn.studies").nothing
