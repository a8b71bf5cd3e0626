"""The sparsity pattern of a list of directed edges, shared by all S_ρ, and the pattern of their transposes."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from s2gnn.errors import InputError
from s2gnn.graphs.graph import LARGEST_INT32_POINTER
from s2gnn.operators import kernel
from s2gnn.operators.autograd import transforming
from s2gnn.operators.edge_factors import EdgePattern


class DirectedPattern(NamedTuple):
    """The entries (i, j) of edges j → i, E of them, sorted by row and column, and those of the transpose.

    Self-loops are entries too. A repeated edge is stored once; where the number of entries must be known in advance,
    for example in a compiled program, its other entries remain empty.

    Attributes:
        entries: the pattern, every entry with its own weight.
        reverse: where each entry of the transpose is stored, (E,).
        place: the entry that stores each listed edge.
        indptr: (2N + 2,) int32, see `HadamardPowers`; (N + 1,) without entries.
        indices: (3E,) int32, see `HadamardPowers`.
    """

    entries: EdgePattern
    reverse: Tensor
    place: Tensor
    indptr: Tensor
    indices: Tensor


def directed_pattern(sources: Tensor, targets: Tensor, n_nodes: int) -> DirectedPattern:
    """Build the pattern of a list of edges in one native pass, or by sorting when the edges are traced."""
    traced = torch.compiler.is_compiling() or transforming()
    if not traced and max(len(sources), n_nodes) <= LARGEST_INT32_POINTER:
        native = kernel.native_variant(sources.device.type)
        if native is not None:
            count = len(sources)
            indptr, indices, place = (np.empty(size, np.int32) for size in (2 * n_nodes + 2, 3 * count, count))
            ends = (kernel.array(end.contiguous()) for end in (targets, sources))
            stored = native[0].pattern_of_edges(*ends, indptr, indices, place)
            if stored < 0:
                raise InputError(f"edge_index has an index outside 0..{n_nodes - 1}, for {n_nodes} nodes")
            both, three = torch.from_numpy(indptr), torch.from_numpy(indices[: 3 * stored])
            own, (columns, _, reverse) = both[: n_nodes + 1], three.chunk(3)
            pointers = both if stored else own  # without entries, the two patterns are one
            entries = EdgePattern.directed(own, columns)
            return DirectedPattern(entries, reverse, torch.from_numpy(place), pointers, three)
    pattern = _sorted_pattern(sources, targets, n_nodes)
    return pattern if traced or len(sources) else pattern._replace(indptr=pattern.indptr[: n_nodes + 1])


def _sorted_pattern(sources: Tensor, targets: Tensor, n_nodes: int) -> DirectedPattern:
    ends = torch.cat([sources, targets])
    torch._assert_async(((ends >= 0) & (ends < n_nodes)).all(), "edge_index has an index that is out of range")
    listed = targets * n_nodes + sources
    key, order = torch.sort(listed, stable=True)
    rows, columns = targets.index_select(0, order), sources.index_select(0, order)
    reverse = torch.argsort(columns * n_nodes + rows, stable=True)
    own, other = _indptr(rows, n_nodes), _indptr(columns, n_nodes)
    return DirectedPattern(
        EdgePattern.directed(own, columns),
        reverse,
        torch.searchsorted(key, listed),
        torch.cat([own, other]).int(),
        torch.cat([columns, rows.index_select(0, reverse), reverse]).int(),
    )


def _indptr(rows: Tensor, n: int) -> Tensor:
    """Compute the row pointers (N + 1,) of entries in these rows (E,)."""
    counts = rows.new_zeros(n + 1).index_add(0, rows + 1, torch.ones_like(rows))
    return counts.cumsum(0)
