"""What one step of training makes of a network's buffers, such as running means: the mean over its batches."""

import torch
from torch import Tensor, nn

from s2gnn.learning.group import Group


class StepBuffers:
    """The buffers of a model while the batches of one step pass through it.

    Every batch starts from the buffers that the step began with, and the step leaves the mean of what the batches made
    of them, each by its share. So it does not matter in which process and order they pass. A step of one batch leaves
    what that made, to the bit in one process.

    Args:
        model: before the first batch of the step.
        group: the processes that share the batches of the step.
    """

    def __init__(self, model: nn.Module, group: Group) -> None:
        self._group = group
        self._buffers = [buffer for buffer in model.buffers() if _is_number(buffer)]
        self._before = [buffer.clone() for buffer in self._buffers]
        self._changes = [torch.zeros_like(buffer, dtype=_real(buffer)) for buffer in self._buffers]
        self._after: list[Tensor] = []  # what the last batch made of them
        self._n_batches = 0

    @torch.no_grad()
    def take(self, share: float) -> None:
        """Called after each batch, with its share of the step."""
        self._after = [buffer.clone() for buffer in self._buffers]
        self._n_batches += 1
        for buffer, before, change in zip(self._buffers, self._before, self._changes, strict=True):
            moved = torch.where(buffer == before, 0, buffer - before)  # an infinite one has not moved by NaN
            change += share * moved
            buffer.copy_(before)

    @torch.no_grad()
    def finish(self) -> None:
        """Called after the last batch of this process."""
        if self._n_batches == 1 and self._group.size == 1:
            for buffer, after in zip(self._buffers, self._after, strict=True):
                buffer.copy_(after)
            return
        changes = self._group.added_up(self._changes)
        for buffer, before, change in zip(self._buffers, self._before, changes, strict=True):
            whole = change if buffer.is_floating_point() else change.round()
            buffer.copy_(before + whole.to(buffer.dtype))


def _is_number(buffer: Tensor) -> bool:
    return not (buffer.dtype == torch.bool or buffer.is_complex())


def _real(buffer: Tensor) -> torch.dtype:
    """Of the changes of a buffer: a count, such as that of the batches, changes by a share of 1 with every batch."""
    return buffer.dtype if buffer.is_floating_point() else torch.get_default_dtype()
