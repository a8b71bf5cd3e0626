import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from s2gnn import InputError
from s2gnn.errors import LabelsWarning
from s2gnn.tables import Table, TableEncoder, choose_columns, encode_table
from s2gnn.tables.table import as_text


def table_of(**columns):
    return Table("t.csv", {name: as_text([str(value) for value in values]) for name, values in columns.items()})


@pytest.fixture
def training():
    rng = np.random.default_rng(0)
    size = [f"{value!r}" for value in (1e3 * rng.normal(size=40) + 1e6).tolist()]
    size[3] = size[17] = ""
    colour = rng.choice(["red", "green", "NA", " blue "], size=40)
    return table_of(size=size, weight=rng.random(40), colour=colour, shape=rng.choice(["o", "x"], 40), kind=colour)


@pytest.fixture
def encoder(training):
    return TableEncoder.fit(training, choose_columns(training, label="kind"))


def rebuilt(encoder):
    return TableEncoder.from_state(json.loads(json.dumps(encoder.state(), allow_nan=False)))


def test_features_are_those_of_a_column_transformer(training, encoder):
    numbers = [np.array([float(v or "nan") for v in training.column(name)]) for name in ("size", "weight")]
    texts = [np.strings.strip(training.column(name)).astype(object) for name in ("colour", "shape")]
    rows = np.empty((40, 4), dtype=object)
    for position, values in enumerate([*numbers, *texts]):
        rows[:, position] = values
    oracle = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), [0, 1]),
            ("categories", OneHotEncoder(handle_unknown="ignore", sparse_output=False), [2, 3]),
        ]
    )
    # "NA" sorts before the colours as "" does, so the missing value is the first category in both.
    np.testing.assert_allclose(encoder.transform(training), oracle.fit_transform(rows), rtol=1e-9)


ODD = {
    "unseen category": {"size": [5], "weight": [1], "colour": ["violet"], "shape": ["o"]},
    "missing where none was": {"size": [5], "weight": [""], "colour": ["red"], "shape": ["?"]},
    "all missing": {"size": [""], "weight": [""], "colour": [""], "shape": [""]},
    "other order, extra columns": {"shape": ["x"], "more": ["text"], "weight": [2], "kind": [""], "colour": ["blue"],
                                   "size": [-1]},
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_the_state_rebuilds_the_encoder_to_the_bit(training, encoder, odd):
    again = rebuilt(encoder)
    assert again.state() == encoder.state()
    for table in (training, table_of(**odd)):
        features = encoder.transform(table)
        assert np.isfinite(features).all()
        np.testing.assert_array_equal(again.transform(table), features)


def test_what_odd_values_become(encoder):
    features = encoder.transform(table_of(size=[""], weight=["NA"], colour=["violet"], shape=["x"]))
    np.testing.assert_array_equal(features[0, :2], encoder.scaling.apply(encoder.medians))
    np.testing.assert_array_equal(features[0, 2:], [0, 0, 0, 0, 0, 1])


def test_unusable_values_and_columns_are_named(encoder):
    table = table_of(size=[1, 2], weight=[1, "heavy"], colour=["red", "red"], shape=["o", "o"])
    with pytest.raises(
        InputError, match="column 'weight' of t.csv is 'heavy' in row 2, but a value here must be a number"
    ):
        rebuilt(encoder).transform(table)
    with pytest.raises(InputError, match=r"t.csv has no column 'weight': did you mean 'Weight'\?"):
        encoder.transform(table_of(size=[1], Weight=[1], colour=["red"], shape=["o"]))


def test_numbers_only_and_categories_only():
    for table in (table_of(a=[1, 2, 4.5], y=[0, 1, 1]), table_of(a=["u", "v", ""], y=[0, 1, 1])):
        encoder = TableEncoder.fit(table, choose_columns(table, label="y"))
        features = encoder.transform(table)
        assert features.shape == (3, encoder.n_features)
        np.testing.assert_array_equal(rebuilt(encoder).transform(table), features)


def test_numbers_of_an_npz_may_be_read_as_categories():
    encoder = TableEncoder.fit(
        table_of(a=["1.0", "u"], y=[0, 1]), choose_columns(table_of(a=["1.0", "u"], y=[0, 1]), label="y")
    )
    np.testing.assert_array_equal(encoder.transform(Table("t.npz", {"a": np.array([1.0])})), [[1.0, 0.0]])


def test_counts_that_are_treated_as_classes_and_classes_of_one_row_are_reported():
    rings = [*range(5, 14), *range(5, 14), *range(14, 22)]
    table = table_of(x=np.arange(26) % 4, rings=rings)
    many = "column 'rings' of t.csv is treated as 17 classes: for a quantity use --task regress"
    single = (
        r"8 classes have a single labelled row in column 'rings' of t.csv \('14', '15', '16', '17', '18' and 3 more\)"
    )
    with pytest.warns(LabelsWarning, match=many), pytest.warns(LabelsWarning, match=single):
        assert encode_table(table, "rings").task == "classify"
    with pytest.warns(LabelsWarning, match=single):
        encode_table(table, "rings", task="classify")
    assert encode_table(table, "rings", task="regress").task == "regress"
    assert encode_table(table_of(x=[1, 2, 4], rings=[7, 8, ""]), "rings").y.tolist() == ["7", "8", None]


@pytest.mark.parametrize("stored", ["1", "1.0"])  # 1.0 in model folders of release 0.2
def test_whole_numbers_are_the_same_category_with_and_without_a_fraction(stored):
    codes = pd.DataFrame({"site": pd.Categorical([1, 2, 1, 3]), "y": [0, 1, 0, 1]})
    table = Table.from_frame(codes, "t")
    encoder = TableEncoder.fit(table, choose_columns(table, label="y"))
    assert encoder.categories == {"site": ("1", "2", "3")}
    state = json.loads(json.dumps(encoder.state()).replace('"1"', f'"{stored}"'))
    for values in (["1", "3", "4"], ["1.0", "3.", "4"], np.array([1.0, 3.0, np.nan])):
        new = Table("t", {"site": values if isinstance(values, np.ndarray) else as_text(values)})
        features = TableEncoder.from_state(state).transform(new)
        np.testing.assert_array_equal(features, [[1, 0, 0], [0, 0, 1], [0, 0, 0]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.pop("numeric"), "numeric"),
        (lambda s: s["numeric"][0].update(scale=0.0), "the scale 0.0 is not positive"),
        (lambda s: s["numeric"][0].update(mean=None), "None is not a finite number"),
        (lambda s: s["numeric"][0].update(median=True), "True is not a finite number"),
        (lambda s: s["categorical"][0].update(categories=[]), "has no category"),
        (lambda s: s["categorical"][0].update(categories=[["a"]]), "is not text"),
        (lambda s: s["categorical"][0].update(categories=["a", "a"]), "or one twice"),
        (lambda s: s.update(numeric=[], categorical=[]), "it has no column"),
        (lambda s: s.update(numeric=3), "not iterable"),
    ],
)
def test_a_damaged_state_is_refused(encoder, change, message):
    state = encoder.state()
    change(state)
    with pytest.raises(InputError, match=f"the description of the columns is damaged: .*{message}"):
        TableEncoder.from_state(state)
