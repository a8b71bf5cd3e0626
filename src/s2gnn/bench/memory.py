"""The memory of the operator for increasing α, compared with α matrices and α edge lists."""

from dataclasses import dataclass, fields

from torch import Tensor

from s2gnn.bench.cost import Size, matrix_bytes, operator_bound
from s2gnn.bench.networks import EPSILON
from s2gnn.bench.tasks import Workload, workload
from s2gnn.operators import SobolevOperator
from s2gnn.resources import in_own_process, settled_bytes


@dataclass(frozen=True)
class MemoryUse:
    """What is held to propagate with powers 1..α, in bytes; `directions` are the stored directions of the edges.

    Attributes:
        operator: the tensors that the operator propagates with.
        graph: the graph it was made from, which belongs to the caller.
        resident: growth of the resident memory while the operator is made.
        bound: 1.3 times (8 per stored direction and 4 α per node).
        csr: α torch CSR matrices with int32 indices, by formula.
        edge_list: PyG's `edge_index` and α arrays of weights, by formula.
        edge_lists: α such lists, each with its own `edge_index`, by formula.
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


def measure_memory(name: str, alphas: tuple[int, ...] = tuple(range(1, 9))) -> list[MemoryUse]:
    """Measure the workload called `name`, one of `tasks.SIZES`, in a separate process."""
    return in_own_process(_measure_named, name, alphas)


def _measure_named(name: str, alphas: tuple[int, ...]) -> list[MemoryUse]:
    return measure_workload(workload(name), alphas)


def measure_workload(task: Workload, alphas: tuple[int, ...]) -> list[MemoryUse]:
    """Measure in this process."""
    graph = task.graph
    SobolevOperator(graph, 1, EPSILON)  # loads what is loaded at first use
    uses = []
    for alpha in alphas:
        before = settled_bytes()
        op = SobolevOperator(graph, alpha, EPSILON)
        resident = settled_bytes() - before
        size = Size(graph.n_nodes, len(graph.indices), alpha)
        uses.append(
            MemoryUse(
                workload=task.name,
                nodes=size.nodes,
                directions=size.directions,
                alpha=alpha,
                operator=operator_bytes(op),
                graph=graph.indptr.nbytes + graph.indices.nbytes + graph.weights.nbytes,
                resident=resident,
                bound=operator_bound(size),
                csr=matrix_bytes("csr", size),
                edge_list=matrix_bytes("gcnconv", size),
                edge_lists=alpha * matrix_bytes("gcnconv", Size(size.nodes, size.directions, 1)),
            )
        )
        del op
    return uses


def operator_bytes(op: SobolevOperator) -> int:
    """The bytes of the tensors that `op` propagates with."""
    held = (getattr(op.powers, field.name) for field in fields(op.powers))
    return sum(value.nbytes for value in held if isinstance(value, Tensor))
