"""Share arrays with spawned processes through shared memory."""

import io
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np
import torch
import torch.multiprocessing  # registers the pickling of tensors by their place in shared memory
from numpy.typing import NDArray
from torch import Tensor

from s2gnn.graphs import Graph
from s2gnn.graphs.validation import ValidCSR
from s2gnn.operators.csr import no_beta_warning

_SMALL = 4096  # bytes; below a page, sharing costs more than copying


class Shared:
    """A wrapper of a value to pass to `Process(args=...)` of a spawning context.

    The child process accesses it as `.value`. Its tensors and large NumPy arrays, at any depth, are in shared memory;
    NumPy arrays, including those of a `Graph`, are read-only there. Tensors are moved to shared memory in place, arrays
    are copied once for all processes.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        self._copies: dict[int, tuple[NDArray[Any], Tensor]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        buffer = io.BytesIO()
        _SharingPickler(buffer, self._copies).dump(self.value)
        return _load, (buffer.getvalue(),)


class _SharingPickler(ForkingPickler):
    """Pickles arrays as tensors in shared memory; `copies` keeps them, with the array, by the array's id."""

    def __init__(self, file: io.BytesIO, copies: dict[int, tuple[NDArray[Any], Tensor]]) -> None:
        super().__init__(file)
        self._copies = copies

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is np.ndarray and obj.nbytes >= _SMALL and not obj.dtype.hasobject:
            return self._reduce_array(obj)
        if type(obj) is Graph:
            return Graph, (ValidCSR(obj.indptr, obj.indices, obj.weights, copy=False),)
        return NotImplemented

    def _reduce_array(self, array: NDArray[Any]) -> tuple[Any, ...]:
        if id(array) not in self._copies:
            copy = torch.empty(array.nbytes, dtype=torch.uint8).share_memory_()  # type: ignore[no-untyped-call]
            copy.numpy().view(array.dtype).reshape(array.shape)[...] = array
            self._copies[id(array)] = array, copy
        return _array, (self._copies[id(array)][1], array.dtype, array.shape)


def _load(content: bytes) -> Shared:
    # Sparse tensors were checked, if at all, where they were made; checking again is needless.
    with no_beta_warning(), torch.sparse.check_sparse_tensor_invariants(enable=False):  # type: ignore[no-untyped-call]
        return Shared(ForkingPickler.loads(content))


def _array(memory: Tensor, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    array = memory.numpy().view(dtype).reshape(shape)
    array.flags.writeable = False
    return array
