"""Cell: one number of a table, by everything that it depends on."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, get_args

import torch

from s2gnn.data.catalogue import Entry, Kind, entry
from s2gnn.data.splits import DEVELOPMENT_SHARE, TEST_SEEDS, TRAINING_SHARE
from s2gnn.errors import InputError
from s2gnn.learning.hyperparameters import Hyperparameters, Value, default_hyperparameters
from s2gnn.learning.protocol import Protocol, named_protocol
from s2gnn.learning.records import config_hash
from s2gnn.learning.yardsticks import YARDSTICKS, Yardstick, make_yardstick
from s2gnn.nn import GraphNetwork, make_graph_model, make_model


@dataclass(frozen=True)
class Cell:
    """Data set × graph × model × hyperparameters × protocol × seeds.

    Attributes:
        data: name of the data set.
        graph: kind of the graph.
        k: neighbours, for the kinds that have them.
        model: name of the model.
        hyperparameters: of model and optimiser.
        protocol: how models are trained and tested.
        seeds: one run each; under a protocol with folds, the numbers of the folds.
        share: of the nodes that train, see `paper_split`; `None` for the paper's.
    """

    data: str
    graph: Kind
    k: int | None
    model: str
    hyperparameters: Hyperparameters
    protocol: Protocol
    seeds: tuple[int, ...] = TEST_SEEDS
    share: float | None = None

    @property
    def title(self) -> str:
        """The cell in a few words."""
        labelled = "" if self.share is None else f" {100 * self.share:g} % labelled"
        return f"{self.data} {self.graph} {self.model} {self.protocol.name}{labelled}"

    @property
    def config(self) -> dict[str, Any]:
        """All but the seeds: what a record keeps, and what makes two results comparable."""
        content = {name: value for name, value in asdict(self).items() if name != "seeds"}
        if self.share is None:
            del content["share"]
        protocol = {name: value for name, value in content["protocol"].items() if value is not None}
        return {**content, "protocol": protocol, "recipe": entry(self.data).recipe}

    @property
    def config_hash(self) -> str:
        """Stands for `config` in records."""
        return config_hash(self.config)

    def new_model(self, in_channels: int, out_channels: int) -> GraphNetwork:
        """A model of this cell for data of these sizes."""
        arguments: dict[str, Any] = {"head": self.protocol.head, **self.hyperparameters.model}
        make = make_graph_model if entry(self.data).task == "graphs" else make_model
        return make(self.model, in_channels, out_channels, **arguments)

    def new_yardstick(self) -> Yardstick:
        """The yardstick of this cell, where it has one in place of a model."""
        return make_yardstick(self.model, **self.hyperparameters.model)

    def model_factory(self, in_channels: int, out_channels: int) -> partial[GraphNetwork]:
        """`new_model` with its arguments, as something that another process can call."""
        return partial(self.new_model, in_channels, out_channels)


def make_cell(
    data: str,
    model: str,
    protocol: str | Protocol = "released",
    *,
    graph: Kind | None = None,
    k: int | None = None,
    changes: Mapping[str, Value] | None = None,
    seeds: int | tuple[int, ...] | None = None,
    share: float | None = None,
) -> Cell:
    """A cell with defaults for what is left out, checked.

    Args:
        data: name of a data set.
        model: name of a model or of a yardstick.
        protocol: a protocol or its name.
        graph: the kind of the paper's Table I for this data set if left out.
        k: the paper's if left out.
        changes: hyperparameters that differ from `default_hyperparameters`.
        seeds: which, or how many of the 50 test seeds, or of the protocol's folds; all if left out.
        share: of the nodes that train; the paper's if left out.
    """
    found = entry(data)
    kind = found.kind if graph is None else graph
    if kind not in get_args(Kind):
        raise InputError(f"the kind of graph is {kind!r}, but it must be one of {', '.join(get_args(Kind))}")
    if kind in ("knn", "smooth"):
        k = found.k if k is None else k
    elif k is not None:
        raise InputError(f"k is {k}, but a {kind} graph has no k: leave it out")
    chosen = named_protocol(protocol) if isinstance(protocol, str) else protocol
    known = TEST_SEEDS if chosen.folds is None else tuple(range(chosen.folds))
    if seeds is None:
        seeds = known
    if isinstance(seeds, int):
        if not 1 <= seeds <= len(known):
            what = "test seeds" if chosen.folds is None else "folds"
            raise InputError(f"seeds is {seeds}, but it must be 1..{len(known)}, the number of {what}")
        seeds = known[:seeds]
    if len(set(seeds)) < len(seeds) or not seeds:
        raise InputError(f"seeds is {seeds}, but a cell has at least one seed and each once")
    if share is not None and not 0 < share < DEVELOPMENT_SHARE:
        raise InputError(f"share is {share:g}, but it must lie between 0 and {DEVELOPMENT_SHARE:g}")
    _check_task(found, kind, model, chosen)
    if "head" in (changes or {}):
        raise InputError("the head belongs to the protocol: choose another protocol in place of head")
    hyperparameters = default_hyperparameters(model, data)
    if model == "supergat" and chosen.head == "released":
        # The released code leaves SuperGAT's self-supervised loss out.
        hyperparameters = hyperparameters.with_values({"attention_loss": 0.0})
    chosen_share = None if share == TRAINING_SHARE else share
    cell = Cell(data, kind, k, model, hyperparameters.with_values(changes or {}), chosen, seeds, chosen_share)
    if model in YARDSTICKS:
        cell.new_yardstick()
        return cell
    chosen.fit_config(cell.hyperparameters.lr, cell.hyperparameters.weight_decay)
    with torch.device("meta"):  # its arguments are checked, its memory is not taken
        cell.new_model(found.features, found.classes)
    return cell


def _check_task(found: Entry, kind: Kind, model: str, protocol: Protocol) -> None:
    """Raise unless kind, model and protocol are for what is classified in this data set."""
    if found.task == "nodes":
        if protocol.batch_size is not None or protocol.folds is not None:
            raise InputError(
                f"{protocol.name} is for graphs that are classified, but {found.name} has nodes: choose fair"
            )
        return
    if kind not in ("diffusion", "given"):
        raise InputError(f"the kind of graph is {kind!r}, but the graphs of {found.name} are diffusion or given")
    if model in YARDSTICKS:
        raise InputError(f"{model} is for nodes of one graph, but {found.name} has many graphs: choose a network")
