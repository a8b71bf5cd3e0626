"""What a step of training sees: the whole input or, of rows that do not depend on each other, those of a batch."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from s2gnn.errors import InputError
from s2gnn.learning.targets import Targets


@runtime_checkable
class Divisible(Protocol):
    """An input whose rows do not depend on each other, so that a model may be called with some of them alone."""

    def part(self, op: Any, rows: Tensor) -> tuple[Any, Any]:
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

    x: Any
    op: Any
    targets: Targets
    rows: Tensor

    def loss(self, logits: Tensor) -> Tensor:
        """The mean loss of the rows that count."""
        return self.targets.loss(logits, self.rows)


class Batches:
    """The calls of the model that a training run consists of.

    An input that is not `Divisible`, such as the nodes of one graph, is always seen whole. Of one that is, training
    sees the training rows only, in batches if there is a `batch_size`, and validation the validation rows only.

    Args:
        x: first argument of the model.
        op: second argument of the model.
        targets: of all rows.
        batch_size: rows of a batch; `None` for all at once.
    """

    def __init__(self, x: Any, op: Any, targets: Targets, batch_size: int | None) -> None:
        if batch_size is not None and not isinstance(x, Divisible):
            raise InputError(
                f"batch_size is {batch_size}, but the rows depend on each other: nodes of one graph train all at once, "
                "leave it out"
            )
        self._x, self._op, self._targets, self._size = x, op, targets, batch_size

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch; several are drawn anew for every epoch, from torch's random numbers."""
        train = self._targets.train
        if self._size is None or self._size >= len(train):
            yield self._training
            return
        order = torch.randperm(len(train)).to(train.device)
        yield from map(self._of, torch.split(train[order], self._size))

    @cached_property
    def _training(self) -> Batch:
        return self._of(self._targets.train)

    @cached_property
    def validation(self) -> Batch:
        """All validation rows."""
        return self._of(self._targets.val)

    def _of(self, rows: Tensor) -> Batch:
        if not isinstance(self._x, Divisible):
            return Batch(self._x, self._op, self._targets, rows)
        every = torch.arange(len(rows), device=rows.device)
        own = replace(self._targets, labels=self._targets.labels[rows], train=every, val=every[:0])
        return Batch(*self._x.part(self._op, rows), own, every)
