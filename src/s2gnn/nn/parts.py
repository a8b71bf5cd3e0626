"""Mini-batch training on one graph: the batches of nodes, and the input that gives them to a network one by one."""

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
    """Nodes that a network sees at once.

    Attributes:
        nodes: ascending, (n,) int64.
        roots: whether each may count in the loss, (n,) bool; the others are there as neighbours only.
    """

    nodes: NDArray[np.int64]
    roots: NDArray[np.bool_]


class NodeBatches(ABC):
    """A way to divide the nodes of a graph into mini-batches, drawn again for every epoch."""

    n_nodes: int

    @property
    def is_one(self) -> bool:
        """Whether every epoch is one and the same batch, of all nodes."""
        return False

    def settings(self) -> dict[str, Any]:
        """What the batches depend on; a checkpoint is resumed only with the same settings."""
        return {"batches": repr(self)}

    @abstractmethod
    def count(self, train: NDArray[np.int64]) -> int:
        """How many batches of an epoch have training nodes, at most, given these."""

    @abstractmethod
    def epoch(self, train: NDArray[np.int64]) -> Iterator[NodeBatch]:
        """The batches of one epoch, given the training nodes; what is random is drawn from torch's random numbers."""

    def cover(self) -> Iterator[NodeBatch]:
        """Batches in which every node is a root once, for an evaluation in mini-batches."""
        raise InputError(f'{type(self).__name__} leaves nodes out, so evaluate must be "whole"')


class Clusters(NodeBatches):
    """The clusters of a partition, with all edges between the nodes of a batch, as in Cluster-GCN.

    Chiang et al. (2019) join several random clusters in a batch, so that edges between clusters count now and then.

    Args:
        parts: the cluster of every node, (N,), for instance of `s2gnn.graphs.partition`.
        per_batch: clusters in a batch.
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
        """How many batches all parts make, or as many as there are parts with training nodes if that is less."""
        trains = np.zeros(self.n_nodes, dtype=bool)
        trains[train] = True
        return min(ceil(len(self.parts) / self.per_batch), sum(bool(trains[part].any()) for part in self.parts))

    @property
    def is_one(self) -> bool:
        """Whether a batch has all parts."""
        return self.per_batch >= len(self.parts)

    def settings(self) -> dict[str, Any]:
        """How many parts there are, and a digest of which nodes each of them has."""
        digest = hashlib.sha256()
        for part in self.parts:
            digest.update(len(part).to_bytes(8, "little") + part.tobytes())
        return {**super().settings(), "partition": digest.hexdigest()[:16]}

    def epoch(self, train: NDArray[np.int64]) -> Iterator[NodeBatch]:
        """All parts once, in batches of `per_batch` drawn at random; the order of a single batch is not drawn."""
        del train
        if self.is_one:
            yield self._joined(range(len(self.parts)))
            return
        for numbers in torch.split(torch.randperm(len(self.parts)), self.per_batch):
            yield self._joined(numbers.tolist())

    def cover(self) -> Iterator[NodeBatch]:
        """All parts, in batches of `per_batch`."""
        for first in range(0, len(self.parts), self.per_batch):
            yield self._joined(range(first, min(first + self.per_batch, len(self.parts))))

    def _joined(self, numbers: Any) -> NodeBatch:
        nodes = np.sort(np.concatenate([self.parts[number] for number in numbers]))
        return NodeBatch(nodes, np.ones(len(nodes), dtype=bool))

    def __repr__(self) -> str:
        return f"Clusters({len(self.parts)} parts of {self.n_nodes} nodes, per_batch={self.per_batch})"


def _own_features(x: Features, n_nodes: int) -> Table:
    """A checked copy of features, which the caller cannot change before they are used."""
    features: Any = checked_features(x, keep_float32=True)
    if features.shape[0] != n_nodes:
        raise InputError(f"x has {features.shape[0]} rows, but the graph has {n_nodes} nodes: one row per node")
    return features.copy() if sp.issparse(features) else features.copy(order="K")


def _place(model: GraphNetwork) -> str:
    """The type and device of a network, as text."""
    parameter = next(model.parameters())
    return f"{str(parameter.dtype).removeprefix('torch.')} on {parameter.device}"


class InParts:
    """Features on a graph that a network is trained on in mini-batches; `fit` takes it in the place of `x`.

    Args:
        model: the network that is trained, already of its final type and on its device; its `prepare` is called.
        x: node features (N, F), an array, tensor or SciPy sparse matrix.
        graph: the whole graph, N nodes.
        batches: of nodes: `Clusters`, or `Sampled` neighbourhoods.
        degrees: of the "whole" graph: the network is prepared once on the whole graph, at once, and a part selects
            its rows and columns of that; features that were propagated once are those of the whole graph, so that the
            first layer misses no neighbour. Of the "part": the network is prepared on every batch by itself, and only
            the graph and a copy of the features are held of the whole.
        evaluate: on the "whole" graph at once, without gradients; or in "parts", which takes less memory.
        batches_per_step: batches whose gradients are added up for one step of the optimiser.

    With all nodes in one batch, training is that of `fit` on the whole graph, to the bit.

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
                f"{type(model).__name__} cannot be trained in parts: it needs parameters and a method prepare"
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
        """How the graph is divided; a checkpoint is resumed only with the same settings."""
        return {
            **self.batches.settings(),
            "degrees": self.degrees,
            "evaluate": self.evaluate,
            "batches_per_step": self.batches_per_step,
        }

    @property
    def whole(self) -> tuple[NetworkInput, GraphOperator | None]:
        """What the network is called with on the whole graph, prepared once."""
        if self._whole is None:
            self._whole = self._model.prepare(self._features, self._graph)
        return self._whole

    def check_place(self, model: GraphNetwork) -> None:
        """Refuse a network that is elsewhere, or of another type, than the one that this was made for."""
        if (now := _place(model)) != self._place:
            raise InputError(
                f"the model is {now}, but it was {self._place} when InParts was made: make InParts after model.to(…)"
            )

    def prepared_on(self, nodes: NDArray[np.int64]) -> tuple[NetworkInput, GraphOperator | None]:
        """What the network is called with on these nodes, ascending, (n,)."""
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
        """The outputs (N, C) of `model` in its present mode, computed as `evaluate` specifies."""
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
