"""Models of small tables, trained once, and their reports."""

from types import SimpleNamespace

import numpy as np
import pytest

from s2gnn import S2GNNClassifier, S2GNNRegressor
from s2gnn.data import read_table
from s2gnn.estimator import ModelCard
from s2gnn.estimator.cross_validation import hidden_answers
from s2gnn.estimator.evidence import Evidence
from s2gnn.estimator.table_model import TableModel
from s2gnn.preprocessing import TableEncoder, choose_columns, class_labels, quantities
from s2gnn.report.baselines import compare
from s2gnn.report.model import load_model
from s2gnn.report.page import edge_stability, model_layout, report_page, report_sections
from tests.cli.tables import diabetes_table, iris_table

QUICK = {"max_epochs": 40, "n_networks": 2, "hidden_channels": 16, "random_state": 0, "scale": False}


def fit(path, label, folder):
    """Fit a table, predict hidden labels and write the model folder."""
    table = read_table(path)
    columns = choose_columns(table, label=label)
    encoder = TableEncoder.fit(table, columns)
    X = encoder.transform(table)
    classifies = not table.is_numeric(label)
    y = (class_labels if classifies else quantities)(table, label)
    estimator = (S2GNNClassifier if classifies else S2GNNRegressor)(**QUICK).fit(X, y)
    labelled = np.flatnonzero(~table.missing(label))
    evidence = Evidence(
        source=path.name,
        missing={name: int(table.missing(name).sum()) for name in (*columns.numeric, *columns.categorical)},
        left_out=columns.left_out,
        labelled=labelled,
        targets=np.searchsorted(estimator.classes_, y[labelled]) if classifies else y[labelled],
        hidden=hidden_answers(estimator, X, y, folds=3),
        command="s2gnn fit",
        commit=None,
        versions={"s2gnn": "0"},
    )
    model = TableModel(estimator, encoder, label, "classify" if classifies else "regress")
    model.save(folder, ModelCard(), evidence)
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


def reported(folder):
    """The model of a folder, what its report measures, and the report."""
    model = load_model(folder)
    layout, comparison, stability = model_layout(model), compare(model), edge_stability(model)
    sections = report_sections(model, layout, comparison, stability)
    page = report_page(model, layout, sections)
    return SimpleNamespace(
        model=model, layout=layout, comparison=comparison, stability=stability, sections=sections, page=page
    )


@pytest.fixture(scope="session")
def classifier(classifier_folder):
    return reported(classifier_folder)


@pytest.fixture(scope="session")
def regressor(regressor_folder):
    return reported(regressor_folder)
