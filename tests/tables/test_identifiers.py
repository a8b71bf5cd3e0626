import numpy as np
import pandas as pd
import pytest

from s2gnn.cli.output import with_predictions
from s2gnn.errors import IdentifiersWarning
from s2gnn.tables import Identifiers, Table, row_name

VISITS = pd.DataFrame({"age": [40.0, 50, 60, 70], "patient": ["P1", "P2", " P1", None]})


def test_rows_with_the_same_identifier_are_kept_apart_by_their_numbers():
    table = Table.from_frame(VISITS, "visits.csv")
    with pytest.warns(IdentifiersWarning, match="'patient' of visits.csv has duplicate values: 'P1' in rows 1 "
                      "and 3; row numbers are added .* fit with --group 'patient'"):  # fmt: skip
        found = Identifiers.of(table, "patient")
    names = [row_name(found, row) for row in range(4)]
    assert names == ["patient P1 (row 1)", "patient P2", "patient P1 (row 3)", "row 4"]
    written = with_predictions(table, pd.DataFrame({"predicted_x": np.arange(4.0)}), found)
    assert list(written) == ["patient", "row", "age", "predicted_x"]
    assert written["row"].tolist() == [1, 2, 3, 4]


def test_unique_identifiers_need_no_numbers():
    table = Table.from_frame(VISITS.iloc[:2])
    found = Identifiers.of(table, "patient")
    assert row_name(found, 0, str.lower) == "patient p1"
    assert list(with_predictions(table, pd.DataFrame({"predicted_x": [1.0, 2]}), found))[:2] == ["patient", "age"]


def test_the_warning_counts_the_other_values():
    table = Table.from_frame(pd.DataFrame({"id": ["a", "b", "a", "b", "c", "c"]}), "t")
    with pytest.warns(IdentifiersWarning, match="values: 'a' in rows 1 and 3, and 2 more values in several rows;"):
        Identifiers.of(table, "id")
