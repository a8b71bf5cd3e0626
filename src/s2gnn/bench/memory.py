"""The memory of the operator for growing α, beside α matrices and α edge lists."""

from dataclasses import dataclass, fields

from torch import Tensor, sparse_csr

from s2gnn.bench.cost import Size, csr_bytes, edge_list_bytes, matrix_temporaries, operator_bound
from s2gnn.bench.peers import coordinates, csr_matrices
from s2gnn.bench.workloads import Workload, workload
from s2gnn.graphs import Graph
from s2gnn.operators import SobolevOperator
from s2gnn.resources import available_bytes, in_own_process, settled_bytes

ALPHAS = tuple(range(1, 9))


@dataclass(frozen=True)
class MemoryUse:
    """What is held to propagate with powers 1..α, in bytes.

    Attributes:
        workload: the graph.
        nodes: N.
        directions: stored directions of the edges, E.
        alpha: α.
        operator: the tensors that the operator propagates with.
        graph: the graph it was made from, which the caller holds and the operator refers to.
        resident: by how much the resident memory of a process of its own grew when it made the operator.
        bound: 1.3 times (8 for each stored direction and 4 α for each node).
        csr: α torch CSR matrices with int32 indices.
        edge_list: PyG's edge_index and α arrays of weights.
        edge_lists: α such lists, each with its own edge_index.
        peers_measured: whether one of each peer was made and its tensors added up, to be taken α times; else it is
            by formula, for want of memory.
    """

    workload: str
    nodes: int
    directions: int
    alpha: int
    operator: int
    graph: int
    resident: int
    bound: float
    csr: int
    edge_list: int
    edge_lists: int
    peers_measured: bool


def measure_memory(name: str, alphas: tuple[int, ...] = ALPHAS) -> list[MemoryUse]:
    """Measure the workload called `name`, one of `workloads.SIZES`, in a process of its own."""
    return in_own_process(_measure_named, name, alphas)


def _measure_named(name: str, alphas: tuple[int, ...]) -> list[MemoryUse]:
    return measure_graph(workload(name), alphas)


def measure_graph(task: Workload, alphas: tuple[int, ...]) -> list[MemoryUse]:
    """Measure in this process; what it did before may blur the growth of its resident memory."""
    graph = task.graph
    SobolevOperator(graph, 1, 1.5)  # loads what is loaded at first use
    growth = {alpha: _growth(graph, alpha) for alpha in alphas}
    csr, edge_index, weights, measured = _peer_sizes(graph)
    uses = []
    for alpha in alphas:
        size = Size(graph.n_nodes, len(graph.indices), alpha)
        held, resident = growth[alpha]
        edge_list = edge_index + alpha * weights
        uses.append(
            MemoryUse(
                workload=task.name,
                nodes=size.nodes,
                directions=size.directions,
                alpha=alpha,
                operator=held,
                graph=graph.indptr.nbytes + graph.indices.nbytes + graph.weights.nbytes,
                resident=resident,
                bound=operator_bound(size),
                csr=alpha * csr,
                edge_list=edge_list,
                edge_lists=alpha * (edge_index + weights),
                peers_measured=measured,
            )
        )
    return uses


def tensor_bytes(*tensors: Tensor) -> int:
    """The bytes of the storages behind `tensors`, each storage once; a CSR tensor has three."""
    storages = {}
    for tensor in tensors:
        parts = (tensor,)
        if tensor.layout == sparse_csr:
            parts = (tensor.crow_indices(), tensor.col_indices(), tensor.values())  # type: ignore[assignment]
        for part in parts:
            storage = part.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())


def operator_bytes(op: SobolevOperator) -> int:
    """The bytes of the tensors that `op` propagates with."""
    held = (getattr(op.powers, field.name) for field in fields(op.powers))
    return tensor_bytes(*(value for value in held if isinstance(value, Tensor)))


def _growth(graph: Graph, alpha: int) -> tuple[int, int]:
    """The tensors of the operator and the growth of the resident memory, in bytes."""
    before = settled_bytes()
    op = SobolevOperator(graph, alpha, 1.5)
    return operator_bytes(op), settled_bytes() - before


def _peer_sizes(graph: Graph) -> tuple[int, int, int, bool]:
    """Bytes of a CSR matrix, of an edge_index and of an array of weights; whether they were measured."""
    size = Size(graph.n_nodes, len(graph.indices), 1)
    if csr_bytes(size) + edge_list_bytes(size) + matrix_temporaries(size) > available_bytes():
        return csr_bytes(size), 16 * size.nonzeros, 4 * size.nonzeros, False
    op = SobolevOperator(graph, 1, 1.5)
    edge_index, weights = coordinates(op)
    return tensor_bytes(*csr_matrices(op)), tensor_bytes(edge_index), tensor_bytes(*weights), True
