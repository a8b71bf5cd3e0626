import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.errors import ColumnsWarning
from s2gnn.tables import Table, choose_columns, columns
from s2gnn.tables.columns import MOST_CATEGORIES, MOST_CATEGORIES_REQUESTED
from s2gnn.tables.table import as_text


def table_of(**given):
    return Table("t.csv", {name: as_text([str(value) for value in values]) for name, values in given.items()})


def test_kinds_are_recognised_and_useless_columns_left_out():
    rows = range(200)
    table = table_of(
        number=[i % 7 for i in rows],
        sparse=["" if i % 2 else 0.5 * i for i in rows],
        colour=["red" if i % 3 else "NA" for i in rows],
        name=[f"sample {i}" for i in rows],
        index=list(rows),
        constant=[3.0 for _ in rows],
        word=["same" for _ in rows],
        empty=["" for _ in rows],
        key=[str(7 * i) for i in rows],
        kind=["a" for _ in rows],
    )
    columns = choose_columns(table, label="kind", without=["key"])
    assert columns.numeric == ("number", "sparse")
    assert columns.categorical == ("colour",)
    assert columns.left_out == {
        "key": "the identifier of the rows",
        "name": "200 distinct texts in 200 rows",
        "index": "the numbers of the rows",
        "constant": "the same number in every row",
        "word": "the same text in every row",
        "empty": "empty",
    }
    asked = choose_columns(table, ["index", "name", "word"], label="kind")
    assert asked.numeric == ("index",)
    assert asked.categorical == ("name",)
    assert asked.left_out["number"] == "not requested"


def test_texts_that_hardly_two_rows_share_are_left_out():
    table = table_of(
        date=[f"2024-03-{i // 2 + 1:02d}" if i < 20 else f"2024-04-{i:02d}" for i in range(30)],
        week=[f"week {i // 2}" for i in range(30)],
        kind=["a", "b", ""] * 10,
    )
    columns = choose_columns(table, label="kind")
    assert columns.categorical == ("week",)
    assert columns.left_out == {"date": "20 distinct texts in 30 rows"}
    assert choose_columns(table, ["date"], label="kind").categorical == ("date",)
    few = table_of(size=[f"size {i}" for i in range(10)], a=["x", ""] * 5, kind=["a", "b"] * 5)
    assert choose_columns(few, label="kind").categorical == ("size", "a")  # a missing value is a category


def test_a_few_texts_in_a_column_of_numbers_are_named():
    mass = [f"{0.5 * i}" for i in range(85)]
    mass[3], mass[7], mass[20] = "<0.5", "n.d.", "NA"
    table = table_of(mass=mass, y=[i % 2 for i in range(85)], x=[i % 3 for i in range(85)])
    message = "column 'mass' of t.csv is treated as text: 82 of 84 values are numbers; not a number: "
    with pytest.warns(ColumnsWarning, match=rf"{message}'<0.5' \(row 4\), 'n.d.' \(row 8\): fix these values or leave"):
        assert "mass" in choose_columns(table, label="y").left_out
    sold = Table("t.csv", {"sold": as_text(["1,5", "2.5", "3", *["?4", "5?", "6?", "~7"], *["8"] * 20])}, ",")
    with pytest.warns(
        ColumnsWarning, match=r"23 of 27 .*: '\?4' \(row 4\), '5\?' \(row 5\), '6\?' \(row 6\) and 1 more:"
    ):
        assert choose_columns(sold).categorical == ("sold",)


def test_codes_of_which_some_are_numbers_are_text():
    codes = [["10", "11", "2A", "2B"][i % 4] for i in range(40)]
    assert choose_columns(table_of(department=codes)).categorical == ("department",)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("number", np.random.default_rng(0).permutation(np.arange(10230, 10315))),
        ("PatientID", [907, 15, 4411]),
        ("sample_id", [907, 15, 4411]),
        ("Id", [907, 15, 4411]),
    ],
)
def test_numbers_that_look_like_identifiers(name, values):
    table = table_of(**{name: values}, x=np.arange(len(values)) % 2)
    with pytest.warns(
        ColumnsWarning, match=f"column '{name}' of t.csv looks like an identifier .distinct whole numbers"
    ):
        assert choose_columns(table).numeric == (name, "x")
    assert choose_columns(table, [name]).numeric == (name,)


def test_measurements_do_not_look_like_identifiers():
    n = 30
    numbers = np.random.default_rng(0).permutation(n)
    table = table_of(
        year=1990 + np.arange(n),
        income=17 * numbers,
        age=20 + numbers // 2,
        acid=907 + 3 * numbers,
        patient_id=numbers // 3,
    )
    assert choose_columns(table).left_out == {}


def test_row_names_without_a_header_are_no_feature():
    table = Table("t.csv", {"": as_text(["x", "y", "z"]), "a": as_text(["1", "2", "4"]), "y": as_text(["p", "q", ""])})
    assert choose_columns(table, label="y").numeric == ("a",)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["colour", "wieght"], r"t.csv has no column 'wieght': did you mean 'weight'\? Its columns are"),
        (["colour", "kind"], "both the label and a feature"),
        (["id"], "both the identifier of the rows and a feature"),
        (["colour", "colour"], "'colour' is listed twice"),
        (["constant"], r"has no column to learn from besides 'kind' .*'constant': the same number in every row"),
    ],
)
def test_unusable_choices(names, message):
    table = table_of(colour=["red", "blue"], weight=[1, 2.5], constant=[1, 1], kind=["a", "b"], id=["x", "y"])
    with pytest.raises(InputError, match=message):
        choose_columns(table, names, label="kind", without=["id"])


def test_too_many_categories_in_all(monkeypatch):
    monkeypatch.setattr(columns, "MOST_CATEGORIES_IN_ALL", 5)
    table = table_of(a=["x", "y", "z"], b=["u", "v", "w"], y=[0, 1, 0])
    with pytest.raises(InputError, match="the 2 columns of text that were requested .* have 6 distinct texts"):
        choose_columns(table, ["a", "b"], label="y")
    assert choose_columns(table, label="y").categorical == ("a", "b")


def test_too_many_categories():
    n = MOST_CATEGORIES_REQUESTED + 1
    table = table_of(a=np.arange(n) % 5, name=[f"n{i}" for i in range(n)], y=np.arange(n) % 2)
    assert choose_columns(table, label="y").left_out == {"name": f"{n:,} distinct texts in {n:,} rows"}
    with pytest.raises(InputError, match="has 2,001 distinct texts, too many for a feature"):
        choose_columns(table, ["name"], label="y")
    assert n > MOST_CATEGORIES
