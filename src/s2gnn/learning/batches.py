"""What a training step sees: the whole input, the rows of a batch, or mini-batches of nodes."""

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
    """An input whose rows do not depend on each other, so that a model may be called with some of them alone."""

    def part(self, op: GraphOperator | None, rows: Tensor) -> tuple[NetworkInput, GraphOperator | None]:
        """What the model is called with for these rows (n,), in their order."""
        ...


@dataclass(frozen=True, eq=False)
class Batch:
    """One call of the model.

    Attributes:
        x: its first argument.
        op: its second argument.
        targets: of the rows that it gives outputs for.
        rows: which of these count, int64.
    """

    x: NetworkInput
    op: GraphOperator | None
    targets: Targets
    rows: Tensor

    def loss(self, logits: Tensor) -> Tensor:
        """The mean loss of the rows that count."""
        return self.targets.loss(logits, self.rows)


@dataclass(frozen=True)
class Draw:
    """A batch that is made when it is used, so that only one is in memory.

    Attributes:
        make: makes it.
        weight: the total weight of its rows, their number unless classes have weights.
        share: of the weight of all rows of its step.
        seed: of what is random in the network on it; `None` continues torch's random numbers. With its own seed
            a batch gives the same numbers in whatever process and order it is computed.
    """

    make: Callable[[], Batch]
    weight: float
    share: float = 1.0
    seed: int | None = None


class Batches:
    """The calls of the model that a training run consists of.

    An input that is not `Divisible`, such as the nodes of one graph, is seen whole, unless it is `InParts`. Of one that
    is, training sees the training rows only, in batches if there is a `batch_size`, and validation the validation rows
    only.

    Args:
        x: first argument of the model.
        op: second argument of the model.
        targets: of all rows.
        batch_size: rows of a batch; `None` for all at once.
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
        """The most batches that a step has."""
        if not isinstance(self._x, InParts):
            return 1
        return min(self._x.batches_per_step, self._x.batches.count(self._train_nodes))

    def epoch(self) -> Iterator[tuple[Draw, ...]]:
        """The steps of one epoch, each with the batches whose losses it minimises.

        Several batches are drawn for every epoch from torch's random numbers.
        """
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
        """The step on all training rows, made once."""
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
