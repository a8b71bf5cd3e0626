"""Distributed training with torch.distributed: processes that share the batches of every step."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from s2gnn.devices import AUTO, CPU, available_devices, checked_device
from s2gnn.errors import InputError, LostProcessError, NonFiniteLossError

T = TypeVar("T")

# Errors of one process that are raised in all.
TOLD = (InputError, NonFiniteLossError, OSError)


@dataclass(frozen=True)
class Group:
    """This process within the group of processes that train together.

    Gradients are summed over processes, weighted by the numbers of training nodes. `DistributedDataParallel` would
    average them, but batches have unequal sizes, and the last step may have fewer batches than processes.

    Attributes:
        rank: index of this process, from 0.
        size: number of processes.
    """

    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the process that validates, saves and reports."""
        return self.rank == 0

    def own(self, items: Sequence[T]) -> Sequence[T]:
        """Return the items that this process computes: every size-th one, starting with the rank-th."""
        return items[self.rank :: self.size]

    def add_up_gradients(self, model: nn.Module) -> None:
        """Replace every gradient by its sum over all processes; `None` if no process has one."""
        if self.size == 1:
            return
        parameters = list(model.parameters())
        pieces = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        has_one = pieces[0].new_tensor([float(parameter.grad is not None) for parameter in parameters])
        counts, *sums = self.added_up([has_one, *pieces])
        for parameter, count, total in zip(parameters, counts.tolist(), sums, strict=True):
            parameter.grad = total.to(parameter.dtype) if count else None

    def added_up(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return the sums of tensors of equal shapes over all processes, in one message."""
        if self.size == 1 or not tensors:
            return list(tensors)
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        with _talking():
            dist.all_reduce(flat)
        sums = torch.split(flat, [tensor.numel() for tensor in tensors])
        return [total.view_as(tensor) for total, tensor in zip(sums, tensors, strict=True)]

    def totals(self, *numbers: float) -> tuple[float, ...]:
        """Return the sums of numbers over all processes."""
        (sums,) = self.added_up([torch.tensor(numbers, dtype=torch.float64)])
        return tuple(sums.tolist())

    def from_first(self, make: Callable[[], T]) -> T:
        """Call `make` in the first process and return its result in all; an error is raised in all."""
        if self.size == 1:
            return make()
        box: list[Any] = [self._outcome(make) if self.is_first else None]
        with _talking():
            dist.broadcast_object_list(box, src=0)
        if isinstance(box[0], TOLD):
            raise box[0]
        made: T = box[0]
        return made

    def everywhere(self, make: Callable[[], T]) -> T:
        """Call `make` in every process; an error in one is raised in all, with the rank of the process."""
        if self.size == 1:
            return make()
        outcome = self._outcome(make)
        refusals: list[Any] = [None] * self.size
        with _talking():
            dist.all_gather_object(refusals, outcome if isinstance(outcome, Exception) else None)
        for rank, error in enumerate(refusals):
            if error is not None:
                raise error if rank == 0 else type(error)(f"process {rank} of 0 to {self.size - 1}: {error}")
        return outcome  # type: ignore[return-value]

    @staticmethod
    def _outcome(make: Callable[[], T]) -> T | Exception:
        try:
            return make()
        except TOLD as error:
            return error


ALONE = Group()


def is_launched() -> bool:
    """Return whether torchrun, or a compatible launcher, started this process."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def own_device(name: str) -> torch.device:
    """Return the device `name` for this process.

    If torchrun started several processes on this machine, "cuda" is the GPU with the index `LOCAL_RANK`, and "auto" is
    "cuda" if there is a GPU for each process, otherwise the CPU.

    Raises:
        InputError: if the device is not available, or several processes would share a GPU.
    """
    processes = _environment_number("LOCAL_WORLD_SIZE", "1") if is_launched() else 1
    if processes > 1 and name.startswith("cuda:"):
        raise InputError(
            f"device is {name!r}, but {processes} processes train on this machine, each on its own GPU: choose 'cuda'"
        )
    if is_launched() and name == AUTO:
        name = "cuda" if f"cuda:{processes - 1}" in available_devices() else "cpu"
    return checked_device(f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if is_launched() and name == "cuda" else name)


@contextmanager
def joined_group(patience: timedelta = timedelta(minutes=30), device: torch.device = CPU) -> Iterator[Group]:
    """Join the processes that torchrun started, inside the block; without torchrun, a group of this process only.

    Args:
        patience: maximum time that a process waits for the others, e.g. while the first one validates.
        device: the device of this process, see `own_device`. Gradients on CUDA GPUs are summed by NCCL, everything else
            by gloo.
    """
    if not is_launched():
        yield ALONE
        return
    missing = [name for name in ("MASTER_ADDR", "MASTER_PORT") if name not in os.environ]
    if missing:
        raise InputError(
            f"RANK and WORLD_SIZE are set, as for one of several processes, but {missing[0]} is not: start them with "
            "torchrun, or unset RANK for a single process"
        )
    rank, size, port = map(_environment_number, ("RANK", "WORLD_SIZE", "MASTER_PORT"))
    if not (0 <= rank < size and 0 <= port < 2**16):
        raise InputError(
            f"RANK is {rank}, WORLD_SIZE {size} and MASTER_PORT {port}, but ranks are 0 to WORLD_SIZE - 1 and ports "
            "below 65536: start the processes with torchrun, or unset RANK for a single process"
        )
    if device.type == "cuda":
        torch.cuda.set_device(device)  # NCCL takes the current one
    with _talking("the processes of the run do not find each other"):
        dist.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo", timeout=patience)
    try:
        yield Group(dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()


def _environment_number(name: str, default: str = "") -> int:
    text = os.environ.get(name, default)
    if not re.fullmatch("-?[0-9]{1,9}", text):
        raise InputError(
            f"{name} is {text!r}, but it must be an integer: start the processes with torchrun, or unset it"
        )
    return int(text)


@contextmanager
def _talking(failure: str = "another process of the run has ended or does not answer") -> Iterator[None]:
    """Convert communication failures to `LostProcessError`."""
    try:
        yield
    except LostProcessError:
        raise
    except RuntimeError as error:
        reason = re.sub(r"^\[[^]]*\] ", "", str(error).splitlines()[0]).split(". ")[0]  # less the place in gloo's code
        raise LostProcessError(f"{failure} ({reason})") from error


class StepBuffers:
    """Averages the buffers of a model, such as running means, over the batches of a step.

    Every batch starts from the buffers before the step; afterwards they are the mean over batches, weighted by their
    shares. The result therefore does not depend on the process and order of batches. A step with a single batch in a
    single process leaves the buffers of that batch exactly.

    Args:
        model: the model before the first batch of the step.
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
        """Add the buffers after a batch, weighted by its share of the step."""
        self._after = [buffer.clone() for buffer in self._buffers]
        self._n_batches += 1
        for buffer, before, change in zip(self._buffers, self._before, self._changes, strict=True):
            moved = torch.where(buffer == before, 0, buffer - before)  # an infinite one has not moved by NaN
            change += share * moved
            buffer.copy_(before)

    @torch.no_grad()
    def finish(self) -> None:
        """Set the averaged buffers after the last batch of this process."""
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
    """Return the floating-point dtype of a buffer's changes; counts, e.g. of batches, change by fractions."""
    return buffer.dtype if buffer.is_floating_point() else torch.get_default_dtype()
