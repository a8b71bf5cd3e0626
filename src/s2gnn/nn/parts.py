"""Mini-batch training on one graph: batches of nodes, and the input that passes them to a network."""

import hashlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from s2gnn.errors import IdenticalBranchesWarning, InputError
from s2gnn.graphs import Graph
from s2gnn.graphs.features import checked_features
from s2gnn.graphs.selection import Selection
from s2gnn.graphs.validation import as_array, check_choice
from s2gnn.nn.arguments import positive_integer
from s2gnn.nn.inputs import Features, NetworkInput, Table, select_nodes
from s2gnn.nn.network import GraphNetwork
from s2gnn.operators import GraphOperator

DegreesName = Literal["whole", "part"]
EvaluateName = Literal["whole", "parts"]


@dataclass(frozen=True, eq=False)
class NodeBatch:
    """The nodes of one mini-batch.

    Attributes:
        nodes: node indices, ascending, (n,) int64.
        roots: whether a node may contribute to the loss, (n,) bool; the others only serve as neighbours.
    """

    nodes: NDArray[np.int64]
    roots: NDArray[np.bool_]


class NodeBatches(ABC):
    """A method to divide the nodes of a graph into mini-batches, resampled for every epoch."""

    n_nodes: int

    @property
    def is_one(self) -> bool:
        """Whether every epoch consists of the same single batch of all nodes."""
        return False

    def settings(self) -> dict[str, Any]:
        """Return the settings of the batches; a checkpoint only resumes with the same settings."""
        return {"batches": repr(self)}

    @abstractmethod
    def count(self, train: NDArray[np.int64]) -> int:
        """Return the maximum number of batches of an epoch that contain training nodes."""

    @abstractmethod
    def epoch(self, train: NDArray[np.int64]) -> Iterator[NodeBatch]:
        """Return the batches of one epoch, given the training nodes; randomness comes from torch's global generator."""

    def cover(self) -> Iterator[NodeBatch]:
        """Return batches in which every node is a root exactly once, for evaluation."""
        raise InputError(f'{type(self).__name__} does not cover all nodes, so evaluate must be "whole"')


class Clusters(NodeBatches):
    """Batches of random clusters with all edges between their nodes, as in Cluster-GCN (Chiang et al., 2019).

    With several clusters per batch, edges between clusters are used in some of the batches.

    Args:
        parts: index of the cluster of every node, (N,), e.g. from `s2gnn.graphs.partition`.
        per_batch: number of clusters per batch.
    """

    def __init__(self, parts: ArrayLike, per_batch: int = 1) -> None:
        of_node = as_array(parts)
        if of_node.ndim != 1 or of_node.dtype.kind not in "iu" or len(of_node) == 0:
            raise InputError(f"the parts have shape {of_node.shape} and dtype {of_node.dtype}, expected integers (N,)")
        order = np.argsort(of_node, kind="stable")
        _, first = np.unique(of_node[order], return_index=True)
        self.parts = tuple(np.split(order, first[1:]))
        self.per_batch = positive_integer(per_batch, "per_batch")
        self.n_nodes = len(of_node)

    def count(self, train: NDArray[np.int64]) -> int:
        """Return the number of batches of all clusters, or the number of clusters with training nodes if smaller."""
        trains = np.zeros(self.n_nodes, dtype=bool)
        trains[train] = True
        return min(ceil(len(self.parts) / self.per_batch), sum(bool(trains[part].any()) for part in self.parts))

    @property
    def is_one(self) -> bool:
        """Whether one batch contains all clusters."""
        return self.per_batch >= len(self.parts)

    def settings(self) -> dict[str, Any]:
        """Return the number of clusters and a digest of their nodes."""
        digest = hashlib.sha256()
        for part in self.parts:
            digest.update(len(part).to_bytes(8, "little") + part.tobytes())
        return {**super().settings(), "partition": digest.hexdigest()[:16]}

    def epoch(self, train: NDArray[np.int64]) -> Iterator[NodeBatch]:
        """Yield all clusters once, in random batches of `per_batch`; a single batch is not shuffled."""
        del train
        if self.is_one:
            yield self._joined(range(len(self.parts)))
            return
        for numbers in torch.split(torch.randperm(len(self.parts)), self.per_batch):
            yield self._joined(numbers.tolist())

    def cover(self) -> Iterator[NodeBatch]:
        """Yield all clusters in order, in batches of `per_batch`."""
        for first in range(0, len(self.parts), self.per_batch):
            yield self._joined(range(first, min(first + self.per_batch, len(self.parts))))

    def _joined(self, numbers: Any) -> NodeBatch:
        nodes = np.sort(np.concatenate([self.parts[number] for number in numbers]))
        return NodeBatch(nodes, np.ones(len(nodes), dtype=bool))

    def __repr__(self) -> str:
        return f"Clusters({len(self.parts)} parts of {self.n_nodes} nodes, per_batch={self.per_batch})"


def _own_features(x: Features, n_nodes: int) -> Table:
    """Return a validated copy of features, so the caller may modify the original."""
    features: Any = checked_features(x, keep_float32=True)
    if features.shape[0] != n_nodes:
        raise InputError(f"x has {features.shape[0]} rows, but the graph has {n_nodes} nodes: one row per node")
    return features.copy() if sp.issparse(features) else features.copy(order="K")


def _place(model: GraphNetwork) -> str:
    """Return the type and device of a network, as text."""
    parameter = next(model.parameters())
    return f"{str(parameter.dtype).removeprefix('torch.')} on {parameter.device}"


class InParts:
    """The input for mini-batch training of a network; replaces `x` in `fit`.

    Args:
        model: the network, already of its final dtype and on its device; its `prepare` is called.
        x: node features (N, F), an array, tensor or SciPy sparse matrix.
        graph: the whole graph, N nodes.
        batches: `Clusters`, or `Sampled` neighbourhoods.
        degrees: "whole" prepares the network once on the whole graph, and every batch selects its rows and columns; if
            features were propagated once, the first layer misses no neighbour. "part" prepares the network separately
            on every batch, and only keeps the graph and a copy of the features.
        evaluate: "whole" evaluates on the whole graph, without gradients; "parts" in mini-batches, with less memory.
        batches_per_step: number of batches whose gradients are accumulated for one step of the optimiser.

    With all nodes in one batch, the result is bitwise that of `fit` on the whole graph.

    Attributes:
        shape: (N, F).

    Example:
        >>> from s2gnn import S2GNN, knn_graph
        >>> from s2gnn.graphs import partition
        >>> x = np.random.default_rng(0).normal(size=(60, 4))
        >>> graph, model = knn_graph(x, k=5), S2GNN(4, 8, 2)
        >>> InParts(model, x, graph, Clusters(partition(graph, 6), per_batch=2), degrees="part")
        InParts(S2GNN on Clusters(6 parts of 60 nodes, per_batch=2), degrees='part', evaluate='whole')
    """

    def __init__(
        self,
        model: GraphNetwork,
        x: Features,
        graph: Graph,
        batches: NodeBatches,
        degrees: DegreesName = "whole",
        evaluate: EvaluateName = "whole",
        batches_per_step: int = 1,
    ) -> None:
        for name, value, allowed in (("degrees", degrees, DegreesName), ("evaluate", evaluate, EvaluateName)):
            check_choice(name, value, get_args(allowed))
        if batches.n_nodes != graph.n_nodes:
            raise InputError(f"the batches are of {batches.n_nodes} nodes, but the graph has {graph.n_nodes}")
        if evaluate == "parts":
            next(batches.cover())  # refuses batches that leave nodes out
        self.batches_per_step = positive_integer(batches_per_step, "batches_per_step")
        if next(model.parameters(), None) is None or not hasattr(model, "prepare"):
            raise InputError(
                f"{type(model).__name__} cannot be trained in mini-batches: it needs parameters and a method prepare"
            )
        self._model = model
        self._place = _place(model)
        self._graph = graph
        self._whole: tuple[NetworkInput, GraphOperator | None] | None = None
        if degrees == "whole":
            self._whole = model.prepare(x, graph)
        else:
            self._features = _own_features(x, graph.n_nodes)
        self.shape = torch.Size((self._whole[0] if self._whole else self._features).shape)
        self.batches = batches
        self.degrees: DegreesName = degrees
        self.evaluate: EvaluateName = evaluate
        self._has_prepared = False

    def settings(self) -> dict[str, Any]:
        """Return the settings of the mini-batches; a checkpoint only resumes with the same settings."""
        return {
            **self.batches.settings(),
            "degrees": self.degrees,
            "evaluate": self.evaluate,
            "batches_per_step": self.batches_per_step,
        }

    @property
    def whole(self) -> tuple[NetworkInput, GraphOperator | None]:
        """The arguments of the network's `forward` on the whole graph, prepared once."""
        if self._whole is None:
            self._whole = self._model.prepare(self._features, self._graph)
        return self._whole

    def check_place(self, model: GraphNetwork) -> None:
        """Raise an error if the network's device or dtype has changed since the input was created."""
        if (now := _place(model)) != self._place:
            raise InputError(
                f"the model is {now}, but it was {self._place} when InParts was created: create it after model.to(…)"
            )

    def prepared_on(self, nodes: NDArray[np.int64]) -> tuple[NetworkInput, GraphOperator | None]:
        """Return the arguments of the network's `forward` on the nodes (n,), ascending."""
        selection = Selection(nodes, self._graph.n_nodes)
        if self.degrees == "whole":
            return self.whole if len(nodes) == self._graph.n_nodes else select_nodes(*self.whole, selection)
        graph = selection.of_graph(self._graph)
        with warnings.catch_warnings():
            if self._has_prepared:  # every part may give this warning: show that of the first
                warnings.simplefilter("ignore", IdenticalBranchesWarning)
            prepared = self._model.prepare(self._features[nodes], graph)
        self._has_prepared = True
        return prepared

    def logits(self, model: GraphNetwork) -> Tensor:
        """Return the outputs (N, C) of `model` in its mode, on the whole graph or in batches; see `evaluate`."""
        self.check_place(model)
        if self.evaluate == "whole":
            return model(*self.whole)
        found: Tensor | None = None
        for batch in self.batches.cover():
            own = model(*self.prepared_on(batch.nodes))
            found = own.new_empty(self._graph.n_nodes, own.shape[1]) if found is None else found
            found[torch.from_numpy(batch.nodes[batch.roots])] = own[torch.from_numpy(batch.roots)]
        assert found is not None, "a graph has nodes"
        return found

    def __repr__(self) -> str:
        return (
            f"InParts({type(self._model).__name__} on {self.batches!r}, degrees={self.degrees!r}, "
            f"evaluate={self.evaluate!r})"
        )
