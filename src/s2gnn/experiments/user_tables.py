"""Real-world tables for studies with few labels: those in S2GNN_DATA/tables, and scikit-learn's."""

import gzip
import hashlib
import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from s2gnn.data.fetching import local_file
from s2gnn.errors import InputError
from s2gnn.tables import Table, encode_table

CLASSIFICATION = (
    "adult", "anneal", "authorship", "bank_marketing", "beps", "blood_transfusion", "brown_yeast", "cardiotocography",
    "chess_krkp", "chowdary", "coil2000", "covertype", "credit_german", "cylinder_bands", "dhfr", "dry_bean",
    "eeg_eye_state", "frogs", "glaucoma", "hepatitis", "htru2", "income", "lending_club", "libras", "magic",
    "mammography", "mfeat_fourier", "mnist_5k", "musk", "oil_spill", "orange_juice", "page_blocks", "pendigits",
    "phishing", "promoters", "robot_navigation", "scat", "segment", "shuttle", "sonar", "spambase", "stackoverflow",
    "tae", "theorem_proving", "tic_tac_toe", "vehicle", "vote", "wifi", "yeast",
)  # fmt: skip
REGRESSION = (
    "abalone", "ames", "auto_mpg", "biomass", "bodyfat", "car_prices", "chicago_l", "computers", "cpu_act",
    "energy_heating", "hitters", "nlschools", "parkinsons_updrs", "power_plant", "servo", "stock", "tecator", "wage",
    "wine_quality",
)  # fmt: skip
BUNDLED: Mapping[str, Callable[..., Any]] = {
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
    "diabetes": load_diabetes,
}


def load_encoded(name: str) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the encoded columns (N, M) of a table and its classes 0..C−1 or values, (N,)."""
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
        return StandardScaler().fit_transform(X), y if y.dtype.kind != "f" else y.astype(np.float64)
    described = _described(name)
    path = local_file(f"tables/{described['file']}")
    if path is None:
        raise InputError(f"the table {name} is missing: set S2GNN_DATA to a folder with tables/{described['file']}")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != described["sha256"]:
        raise InputError(f"{path} is damaged: its sha256 is not that of tables.json")
    frame = pd.read_csv(io.BytesIO(gzip.decompress(content)), dtype=str, keep_default_na=False, na_values=[""])
    classifies = described["task"] == "classification"
    table = Table.from_frame(frame)
    encoded = encode_table(table, described["target"], task="classify" if classifies else "regress")
    if classifies:
        return encoded.X, np.unique(encoded.y.astype(str), return_inverse=True)[1]
    return encoded.X, encoded.y.astype(np.float64)


def _described(name: str) -> Mapping[str, Any]:
    path = local_file("tables/tables.json")
    if path is None:
        raise InputError(
            "the tables of the leaderboard are missing: set S2GNN_DATA to a folder with tables/tables.json"
        )
    found: Mapping[str, Any] = next(one for one in json.loads(path.read_bytes()) if one["name"] == name)
    return found
