"""What the JSON of a model folder holds, declared: every field has its type before anything is made of it."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, get_type_hints

import msgspec

from s2gnn.estimator.blending import GraphGain
from s2gnn.estimator.card import Estimator
from s2gnn.estimator.classifier import S2GNNClassifier
from s2gnn.estimator.regressor import S2GNNRegressor
from s2gnn.estimator.training_graph import KINDS
from s2gnn.learning import History
from s2gnn.nn import S2GNNConfig
from s2gnn.reading import as_type

CLASSES: Mapping[str, type[Estimator]] = {"S2GNNClassifier": S2GNNClassifier, "S2GNNRegressor": S2GNNRegressor}
STORED_GRAPH = "stored"  # the parameter graph of an estimator that was given its graph, or a function that made it


class Blends(msgspec.Struct):
    """The blends of members and of base learners, see `blended_content`."""

    members: dict[str, Any] | None
    learners: dict[str, Any] | None


class Description(msgspec.Struct):
    """`estimator.json`; what has a default is absent in folders of early releases."""

    kind: Literal["S2GNNClassifier", "S2GNNRegressor"] = msgspec.field(name="class")
    parameters: dict[str, Any]
    network: S2GNNConfig
    n_networks: int
    attachment: dict[str, Any] | None
    histories: list[History]
    kept_epochs: list[int]
    n_labelled: int
    encoder: dict[str, Any] | None = None
    n_columns: int | None = None
    graph_gain: GraphGain | None = None
    blends: Blends | None = None


class Versioned(msgspec.Struct):
    """The version of the evidence."""

    version: int


class Origin(Versioned):
    """The description in `evidence.npz`: what the folder keeps of the card."""

    source: str
    missing: dict[str, int]
    left_out: dict[str, str]
    command: str
    commit: str | None
    versions: dict[str, str]


class Pairs(msgspec.Struct):
    """A dictionary whose keys need not be text."""

    pairs: list[tuple[bool | int | float | str | None, float]]


def stored_parameters(kind: type[Estimator], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of an estimator's constructor as `Description` has them, with the types that it declares.

    Raises:
        InputError: if one has another type, or is unknown.
    """
    found = as_type(stored, _parameters(kind))
    present = {name: getattr(found, name) for name in found.__struct_fields__}
    plain = {name: value for name, value in present.items() if value is not msgspec.UNSET}
    return {name: dict(value.pairs) if isinstance(value, Pairs) else value for name, value in plain.items()}


@cache
def _parameters(kind: type[Estimator]) -> type[msgspec.Struct]:
    """Return the declared parameters of an estimator; those that JSON cannot hold have the type of what is stored."""
    declared = get_type_hints(kind)
    stored = {
        "graph": Literal[(*KINDS, STORED_GRAPH)],
        "class_weight": Pairs | Literal["balanced"] | None,
        "random_state": int | None,
        **dict.fromkeys(("residual", "scale", "verbose"), bool | int),  # used as conditions
    }
    fields = [(name, stored.get(name, declared[name])) for name in kind().get_params(deep=False)]
    return msgspec.defstruct(
        f"Parameters{kind.__name__}",
        [(name, type_ | msgspec.UnsetType, msgspec.UNSET) for name, type_ in fields],
        forbid_unknown_fields=True,
    )
