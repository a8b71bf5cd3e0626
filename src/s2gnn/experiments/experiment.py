"""Experiment: the full description of one cell of a table, and the key of its records."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch

from s2gnn.data.catalogue import Kind, dataset_info, graph_k
from s2gnn.data.splits import DEVELOPMENT_SHARE, TEST_SEEDS, TRAINING_SHARE
from s2gnn.errors import InputError
from s2gnn.experiments.hyperparameters import Hyperparameters, Value, default_hyperparameters
from s2gnn.experiments.protocols import Protocol, named_protocol
from s2gnn.learning.classical import CLASSICAL, make_classical
from s2gnn.links import DecoderName, LinkPredictor
from s2gnn.nn import GraphNetwork, make_graph_model, make_model

TaskName = Literal["nodes", "graphs", "links"]

# Raised when the meaning of `Experiment.describe` changes; records with another version are not comparable.
KEY_VERSION = 2


@dataclass(frozen=True)
class Experiment:
    """Data × graph × model × hyperparameters × protocol × task, and the seeds of its runs.

    Attributes:
        data: name of the data set.
        graph: kind of the graph.
        k: number of neighbours, for kinds of graphs that have it.
        model: name of the model or classical baseline; for link prediction, of the encoder.
        hyperparameters: hyperparameters of model and optimiser.
        protocol: training and test protocol.
        seeds: seeds of the runs; indices of folds under a protocol with folds.
        share: share of training nodes, see `paper_split`; `None` for the paper's.
        decoder: decoder for link prediction; `None` for node or graph classification.
        embedding: width of the embeddings in link prediction.
    """

    data: str
    graph: Kind
    k: int | None
    model: str
    hyperparameters: Hyperparameters
    protocol: Protocol
    seeds: tuple[int, ...] = TEST_SEEDS
    share: float | None = None
    decoder: DecoderName | None = None
    embedding: int = 16

    @property
    def task(self) -> TaskName:
        """The task: node classification, graph classification or link prediction."""
        return "links" if self.decoder is not None else dataset_info(self.data).task

    @property
    def title(self) -> str:
        """A short description of the experiment."""
        words = [self.data, self.graph, self.model, self.protocol.name]
        if self.share is not None:
            words.append(f"{100 * self.share:g} % labelled")
        if self.decoder is not None:
            words.append(f"{self.decoder} decoder")
        return " ".join(words)

    def describe(self) -> dict[str, Any]:
        """Return all that a result depends on except the seed, as a JSON object with names independent of the code."""
        links = self.decoder is not None
        content = {
            "version": KEY_VERSION,
            "task": self.task,
            "data": self.data,
            "recipe": dataset_info(self.data).recipe,
            "graph": self.graph,
            "k": self.k,
            "share": self.share,
            "model": self.model,
            "decoder": self.decoder,
            "embedding": self.embedding if links else None,
            "lr": self.hyperparameters.lr,
            "weight_decay": self.hyperparameters.weight_decay,
            "arguments": self.hyperparameters.model,
            "protocol": _without_none(self.protocol.describe()),
        }
        return _without_none(content)

    @property
    def key(self) -> str:
        """The key of this experiment's records: a hash of `describe()`."""
        return record_key(self.describe())

    def new_network(self, in_channels: int, out_channels: int) -> GraphNetwork:
        """Create the network for data of these sizes; for link prediction, the encoder."""
        arguments: dict[str, Any] = {"head": self.protocol.head, **self.hyperparameters.model}
        make = make_graph_model if self.task == "graphs" else make_model
        return make(self.model, in_channels, out_channels, **arguments)

    def new_predictor(self, in_channels: int) -> LinkPredictor:
        """Create the link predictor for features of this width."""
        assert self.decoder is not None
        return LinkPredictor(self.new_network(in_channels, self.embedding), self.decoder, self.embedding)


def record_key(description: Mapping[str, Any]) -> str:
    """Return the key of an experiment's description: sixteen hexadecimal digits of its hash."""
    return hashlib.sha256(canonical_json(description).encode()).hexdigest()[:16]


def canonical_json(content: Mapping[str, Any]) -> str:
    """Return canonical JSON: keys sorted, no spaces."""
    try:
        return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{content!r} cannot be written as JSON ({error}): use finite numbers, strings and lists"
        ) from error


def _without_none(content: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if value is not None}


def make_experiment(
    data: str,
    model: str,
    protocol: str | Protocol = "released",
    *,
    graph: Kind | None = None,
    k: int | None = None,
    changes: Mapping[str, Value] | None = None,
    seeds: int | tuple[int, ...] | None = None,
    share: float | None = None,
    decoder: DecoderName | None = None,
    embedding: int = 16,
) -> Experiment:
    """Create and validate an experiment, with defaults for omitted arguments.

    Args:
        data: name of a data set.
        model: name of a model or of a classical baseline.
        protocol: a protocol or its name.
        graph: kind of the graph; default: that of the paper's Table I.
        k: number of neighbours; default: the paper's.
        changes: hyperparameters that differ from `default_hyperparameters`.
        seeds: the seeds, or the number of test seeds (at most 50) or folds; default: all.
        share: share of training nodes; default: the paper's.
        decoder: decoder for link prediction.
        embedding: width of the embeddings in link prediction.
    """
    found = dataset_info(data)
    kind = found.kind if graph is None else graph
    k = graph_k(data, kind, k)
    chosen = named_protocol(protocol) if isinstance(protocol, str) else protocol
    if share is not None and not 0 < share < DEVELOPMENT_SHARE:
        raise InputError(f"share is {share:g}, but it must lie between 0 and {DEVELOPMENT_SHARE:g}")
    if "head" in (changes or {}):
        raise InputError("the head belongs to the protocol: choose another protocol instead of head")
    defaults = default_hyperparameters(model, data)
    if model == "supergat" and chosen.head == "released":
        defaults = defaults.with_values({"attention_loss": 0.0})  # the released code omits SuperGAT's loss
    experiment = Experiment(
        data,
        kind,
        k,
        model,
        defaults.with_values(changes or {}),
        chosen,
        _checked_seeds(seeds, chosen),
        None if share == TRAINING_SHARE else share,
        decoder,
        embedding,
    )
    _check_task(experiment)
    if model in CLASSICAL:
        make_classical(model, **experiment.hyperparameters.model)
        return experiment
    chosen.fit_config(experiment.hyperparameters.lr, experiment.hyperparameters.weight_decay)
    with torch.device("meta"):  # checks the arguments without taking memory
        if decoder is None:
            experiment.new_network(found.features, found.classes)
        else:
            experiment.new_predictor(found.features)
    return experiment


def _checked_seeds(seeds: int | tuple[int, ...] | None, protocol: Protocol) -> tuple[int, ...]:
    known = TEST_SEEDS if protocol.folds is None else tuple(range(protocol.folds))
    if seeds is None:
        return known
    if isinstance(seeds, int):
        if not 1 <= seeds <= len(known):
            what = "test seeds" if protocol.folds is None else "folds"
            raise InputError(f"seeds is {seeds}, but it must be 1..{len(known)}, the number of {what}")
        return known[:seeds]
    if len(set(seeds)) < len(seeds) or not seeds:
        raise InputError(f"seeds is {seeds}, but an experiment has at least one seed and each once")
    return seeds


def _check_task(experiment: Experiment) -> None:
    """Raise an error if graph, model or protocol do not fit the task of the data set."""
    data, kind, model, protocol = experiment.data, experiment.graph, experiment.model, experiment.protocol
    if experiment.decoder is not None:
        if dataset_info(data).task == "graphs":
            raise InputError(f"{data} has many graphs, but links are predicted in one: choose a citation network")
        if experiment.share is not None or model in CLASSICAL:
            what = "share" if experiment.share is not None else model
            raise InputError(f"{what} is for node classification, but a decoder predicts links: omit one of them")
        if kind not in ("given", "diffusion"):
            raise InputError(
                f"the kind of graph is {kind!r}, but links are predicted in a given graph: choose given or diffusion"
            )
    if dataset_info(data).task == "nodes":
        if protocol.batch_size is not None or protocol.folds is not None:
            raise InputError(f"{protocol.name} is for graph classification, but {data} has nodes: choose fair")
    elif kind not in ("diffusion", "given"):
        raise InputError(f"the kind of graph is {kind!r}, but the graphs of {data} are diffusion or given")
    elif model in CLASSICAL:
        raise InputError(f"{model} is for nodes of one graph, but {data} has many graphs: choose a network")
