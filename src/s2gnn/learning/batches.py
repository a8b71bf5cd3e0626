"""The batches of training steps: the whole input, batches of rows, or mini-batches of nodes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from s2gnn.errors import InputError
from s2gnn.learning.targets import Targets
from s2gnn.nn.inputs import NetworkInput
from s2gnn.nn.parts import InParts, NodeBatch
from s2gnn.operators import GraphOperator


@runtime_checkable
class Divisible(Protocol):
    """An input with independent rows, so that a model can be called with a subset of them."""

    def part(self, op: GraphOperator | None, rows: Tensor) -> tuple[NetworkInput, GraphOperator | None]:
        """Return the arguments of the model for these rows (n,), in the given order."""
        ...


@dataclass(frozen=True, eq=False)
class Batch:
    """One call of the model.

    Attributes:
        x: first argument of the model.
        op: second argument of the model.
        targets: targets of all rows of the output.
        rows: rows that contribute to the loss, int64.
    """

    x: NetworkInput
    op: GraphOperator | None
    targets: Targets
    rows: Tensor

    def loss(self, logits: Tensor) -> Tensor:
        """Return the mean loss over `rows`."""
        return self.targets.loss(logits, self.rows)


@dataclass(frozen=True)
class Draw:
    """A batch that is created when it is used, so that only one is in memory.

    Attributes:
        make: function that creates the batch.
        weight: total weight of its rows; their number unless classes or nodes have weights.
        share: its share of the total weight of the step.
        seed: random seed of the network on this batch, which makes the result independent of process and order; `None`
            uses torch's global generator.
    """

    make: Callable[[], Batch]
    weight: float
    share: float = 1.0
    seed: int | None = None


class Batches:
    """The batches of a training run.

    A `Divisible` input is divided into training rows (in batches of `batch_size`, if given) and validation rows. Other
    inputs, such as the nodes of one graph, are passed to the model as a whole, unless they are `InParts`.

    Args:
        x: first argument of the model.
        op: second argument of the model.
        targets: targets of all rows.
        batch_size: number of rows per batch; `None` for a single batch.
    """

    def __init__(self, x: NetworkInput, op: GraphOperator | None, targets: Targets, batch_size: int | None) -> None:
        if batch_size is not None and not isinstance(x, Divisible):
            raise InputError(
                f"batch_size is {batch_size}, but the rows depend on each other: nodes of one graph train all at once, "
                "or in mini-batches, InParts; omit it"
            )
        self._x, self._op, self._targets, self._size = x, op, targets, batch_size

    @property
    def per_step(self) -> int:
        """The maximum number of batches per step."""
        if not isinstance(self._x, InParts):
            return 1
        return min(self._x.batches_per_step, self._x.batches.count(self._train_nodes))

    def epoch(self) -> Iterator[tuple[Draw, ...]]:
        """Yield the steps of one epoch, each a list of batches, which are shuffled with torch's global generator."""
        if isinstance(self._x, InParts):
            yield from self._steps_in_parts(self._x)
            return
        train = self._targets.train
        if self._size is None or self._size >= len(train):
            yield self._training
            return
        order = torch.randperm(len(train)).to(train.device)
        for rows in torch.split(train[order], self._size):
            yield (Draw(partial(self._of, rows), self._targets.weight(rows)),)

    def _steps_in_parts(self, x: InParts) -> Iterator[tuple[Draw, ...]]:
        counted = (draw for draw in map(partial(self._draw, x), x.batches.epoch(self._train_nodes)) if draw.weight)
        while draws := tuple(islice(counted, x.batches_per_step)):
            total = sum(draw.weight for draw in draws)
            yield tuple(replace(draw, share=draw.weight / total) for draw in draws)

    def _draw(self, x: InParts, batch: NodeBatch) -> Draw:
        rows = np.flatnonzero(batch.roots & self._is_training[batch.nodes])
        weight = self._targets.weight(torch.from_numpy(batch.nodes[rows]).to(self._targets.labels.device))
        seed = None if x.batches.is_one else int(torch.randint(2**62, ()))
        return Draw(partial(self._part, x, batch.nodes, rows), weight, seed=seed)

    def _part(self, x: InParts, nodes: NDArray[np.int64], rows: NDArray[np.int64]) -> Batch:
        device = self._targets.labels.device
        counted = torch.from_numpy(rows).to(device)
        own = self._targets.part(torch.from_numpy(nodes).to(device), counted)
        return Batch(*x.prepared_on(nodes), own, counted)

    @cached_property
    def _train_nodes(self) -> NDArray[np.int64]:
        return self._targets.train.cpu().numpy()

    @cached_property
    def _is_training(self) -> NDArray[np.bool_]:
        mask = np.zeros(len(self._targets.labels), dtype=bool)
        mask[self._train_nodes] = True
        return mask

    @cached_property
    def _training(self) -> tuple[Draw]:
        """The step on all training rows, created once."""
        batch = self._of(self._targets.train)
        return (Draw(lambda: batch, self._targets.weight(self._targets.train)),)

    @cached_property
    def validation(self) -> Batch:
        """All validation rows."""
        return self._of(self._targets.val)

    def _of(self, rows: Tensor) -> Batch:
        if not isinstance(self._x, Divisible):
            return Batch(self._x, self._op, self._targets, rows)
        every = torch.arange(len(rows), device=rows.device)
        return Batch(*self._x.part(self._op, rows), self._targets.part(rows, every), every)
