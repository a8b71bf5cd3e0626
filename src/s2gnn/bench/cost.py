"""What the operator, its peers and an epoch cost by formula: bytes held, bytes moved, floating-point operations.

Throughout, E is the number of stored directions of the graph (twice its edges) and N its number of nodes; a matrix
S_ρ has E + N nonzeros, its diagonal among them. Values are float32.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

GIB = 2**30
PROCESS = 400 * 2**20  # bytes of an interpreter with torch and the package loaded
ALLOWANCE = 1.3  # on the bytes that the operator must hold
# Arrays (nonzeros, heads, out) that PyG's attention keeps of every layer for the backward pass.
KEPT_MESSAGES = {"gat": 1, "gatv2": 3, "supergat": 6, "transformer": 3}


@dataclass(frozen=True)
class Size:
    """A graph with the branches on it: N nodes, E stored directions, powers 1..α."""

    nodes: int
    directions: int
    alpha: int

    @property
    def nonzeros(self) -> int:
        """Of one S_ρ."""
        return self.directions + self.nodes


def operator_bound(size: Size) -> float:
    """The bytes that the operator may hold: 1.3 times (8 for each stored nonzero, 4 α for each node)."""
    return ALLOWANCE * (8 * size.directions + 4 * size.alpha * size.nodes)


def csr_bytes(size: Size, alpha: int | None = None) -> int:
    """α torch CSR matrices with int32 indices."""
    count = size.alpha if alpha is None else alpha
    return count * (8 * size.nonzeros + 4 * (size.nodes + 1))


def edge_list_bytes(size: Size, alpha: int | None = None) -> int:
    """One int64 `edge_index` of PyG and α arrays of weights."""
    count = size.alpha if alpha is None else alpha
    return (16 + 4 * count) * size.nonzeros


def sparse_tensor_bytes(size: Size) -> int:
    """α matrices of torch_sparse: int64 columns and row pointers."""
    return size.alpha * (12 * size.nonzeros + 8 * (size.nodes + 1))


def matrix_temporaries(size: Size) -> int:
    """What `SobolevOperator.matrix` holds while it makes one S_ρ: a dozen arrays of 8 bytes for each nonzero."""
    return 96 * size.nonzeros


def streamed_bytes(size: Size, width: int) -> int:
    """The least that a propagation (N, F) → (α, N, F) moves when every array is touched once."""
    pattern = 8 * size.directions + 4 * (size.nodes + 1)
    scalings = 4 * (size.alpha + 1) * size.nodes
    return pattern + scalings + 4 * (1 + size.alpha) * size.nodes * width


def gathered_bytes(size: Size, width: int) -> int:
    """The same when every stored direction fetches its row of the signal and its α scalings from memory."""
    return streamed_bytes(size, width) + 4 * (width + size.alpha) * size.directions


def propagation_needs(way: str, size: Size, width: int) -> int:
    """The bytes that a way to propagate a signal (N, F) takes, beside the operator of ours that is there anyway."""
    result = 4 * size.alpha * size.nodes * width
    return {
        "ours": result,
        "one_csr": csr_bytes(size, 1) + result // size.alpha + matrix_temporaries(size),
        "csr": csr_bytes(size) + result + matrix_temporaries(size),
        "torch_sparse": sparse_tensor_bytes(size) + result + matrix_temporaries(size),
        "gcnconv": edge_list_bytes(size) + result + max(matrix_temporaries(size), _messages(size, width)),
    }[way]


def peer_needs(way: str, size: Size, widths: Sequence[int]) -> int:
    """The bytes that the network of a peer takes in training, beside graph, input and the operator of ours.

    An estimate: of every branch of every layer six arrays (N, out) are alive at the peak. That of our own network is
    `cost_model.training_bytes`.
    """
    branches = 1 if way == "gcn" else size.alpha + 1
    activations = 4 * 6 * branches * size.nodes * sum(widths[1:])
    messages = _messages(size, max(widths[1:]))
    return (
        activations
        + {
            "csr": csr_bytes(size) + matrix_temporaries(size),
            "torch_sparse": sparse_tensor_bytes(size) + _transposes(size) + matrix_temporaries(size),
            "gcnconv": edge_list_bytes(size) + max(matrix_temporaries(size), messages),
            "gcn": 3 * edge_list_bytes(size, 1) + messages,  # with self-loops, then with normalised weights
        }[way]
    )


def baseline_needs(way: str, model: str, size: Size, widths: Sequence[int], heads: int) -> int:
    """The bytes that a baseline with layers `widths` takes in training, "ours" or "pyg", beside graph and input.

    An estimate that follows the peak of torch's allocations on random graphs: six arrays (N, out) of every layer and
    head are alive, and on the edges what `_our_edges` and `_pyg_edges` say.
    """
    heads = heads if model in KEPT_MESSAGES else 1
    activations = 4 * 6 * heads * size.nodes * sum(widths[1:])
    edges = _our_edges(model, size, widths, heads) if way == "ours" else _pyg_edges(model, size, widths, heads)
    return activations + edges


def _our_edges(model: str, size: Size, widths: Sequence[int], heads: int) -> int:
    """Attention has `NodePairs`, SuperGAT one of non-edges in every layer, and numbers of edges and heads."""
    layers = len(widths) - 1
    if model in KEPT_MESSAGES:
        halves, numbers = (2 + layers, 9) if model == "supergat" else (2, 6)  # half as many non-edges as edges
        return 20 * halves * size.nonzeros + max(matrix_temporaries(size), 4 * numbers * layers * heads * size.nonzeros)
    matrix = 2 * csr_bytes(size, 1) if model == "clustergcn" else round(operator_bound(size))
    return matrix + matrix_temporaries(size) + 2 * 4 * size.nodes * widths[0]


def _pyg_edges(model: str, size: Size, widths: Sequence[int], heads: int) -> int:
    """Edge lists as they are, with self-loops and normalised, and messages as wide as a layer's input or output."""
    lists = 4 * edge_list_bytes(size, 1)
    if model not in KEPT_MESSAGES:
        return lists + _messages(size, max(widths))
    arrays = KEPT_MESSAGES[model] * sum(widths[1:]) + 3 * max(widths[1:])
    return lists + 4 * heads * size.nonzeros * arrays


def _transposes(size: Size) -> int:
    """For a backward pass torch_sparse keeps the row and the transposed position of every nonzero, and pointers."""
    return size.alpha * (16 * size.nonzeros + 8 * (size.nodes + 1))


def _messages(size: Size, width: int) -> int:
    """PyG's scatter holds the gathered rows and their product with the weights, one row for each nonzero."""
    return 2 * 4 * size.nonzeros * width


def dense_flops(nodes: int, alpha: int, widths: Sequence[int]) -> int:
    """The floating-point operations of the dense products in an epoch: a step and an evaluation.

    Each layer multiplies by the weights of α + 1 branches and by those of the MLP fusion: forward twice (step and
    evaluation), backward once for the weights and once for the input, except that the network's own input needs
    no gradient.
    """
    total = 0
    for layer, (width_in, width_out) in enumerate(pairwise(widths)):
        branches = 2 * nodes * (alpha + 1) * width_in * width_out
        fusion = 2 * nodes * (alpha + 1) * width_out * width_out
        total += (4 if layer else 3) * branches + 4 * fusion
    return total
