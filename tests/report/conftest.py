"""Models of small tables, trained once, and their reports."""

import copy
from dataclasses import replace
from types import SimpleNamespace

import pytest

from s2gnn.estimator import TableModel
from s2gnn.report.baselines import compare
from s2gnn.report.explanation_section import explain_rows
from s2gnn.report.model import load_model
from s2gnn.report.page import edge_stability, model_layout, report_page, report_sections
from s2gnn.tables import encode_table, read_table
from tests.cli.tables import diabetes_table, iris_table

QUICK = {"max_epochs": 40, "n_networks": 2, "hidden_channels": 16, "random_state": 0}


def fit(path, label, folder):
    """Fit a table, predict hidden labels and write the model folder."""
    model = TableModel.fit(encode_table(read_table(path), label), **QUICK)
    model.estimator.evaluate(3)
    model.save(folder, command="s2gnn fit")
    return folder


@pytest.fixture(scope="session")
def classifier_folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("classifier")
    iris_table(place / "iris.csv", every=5)
    return fit(place / "iris.csv", "species", place / "model")


@pytest.fixture(scope="session")
def regressor_folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("regressor")
    diabetes_table(place / "patients.csv")
    return fit(place / "patients.csv", "progression", place / "model")


def changed(model, **attributes):
    """The model with other attributes of its estimator."""
    estimator = copy.copy(model.estimator)
    for name, value in attributes.items():
        setattr(estimator, name, value)
    return replace(model, estimator=estimator)


def as_of_an_early_release(model):
    """The model as its folder would be read without evidence.npz."""
    return replace(changed(model, labelled_=None, targets_=None, evaluation_=None), card=None)


def reported(folder):
    """The model of a folder, what its report measures, and the report."""
    model = load_model(folder)
    layout, explained = model_layout(model), explain_rows(model)
    comparison, stability = compare(model), edge_stability(model)
    sections = report_sections(model, layout, comparison, explained, stability)
    page = report_page(model, layout, sections)
    return SimpleNamespace(
        model=model,
        layout=layout,
        comparison=comparison,
        explained=explained,
        stability=stability,
        sections=sections,
        page=page,
    )


@pytest.fixture(scope="session")
def classifier(classifier_folder):
    return reported(classifier_folder)


@pytest.fixture(scope="session")
def regressor(regressor_folder):
    return reported(regressor_folder)
