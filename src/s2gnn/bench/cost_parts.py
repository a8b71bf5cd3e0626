"""What training in parts holds of the whole graph, however small its batches: bytes by formula."""

from collections.abc import Sequence
from dataclasses import dataclass

from s2gnn.bench.cost import Size
from s2gnn.bench.cost_model import evaluation_bytes, training_bytes

METIS_NUMBER = 8  # bytes


@dataclass(frozen=True)
class PartsBytes:
    """What is held of the whole graph from stage to stage, beside a batch and the process itself.

    Attributes:
        building: while the graph is made, with the features.
        dividing: while METIS divides it: graph, features, and neighbours, weights and pointers as METIS is given them;
            the coarser graphs that METIS makes of it come on top.
        part_degrees: by every process that prepares each part by itself: graph, features and the copy of `InParts`.
        whole_degrees: by every process that prepares the whole graph: graph, features, operator and the network's
            input, or what making the operator takes.
        evaluation: by the first process, where it has prepared the whole graph and evaluates on it at once.
    """

    building: int
    dividing: int
    part_degrees: int
    whole_degrees: int
    evaluation: int


def parts_bytes(size: Size, widths: Sequence[int]) -> PartsBytes:
    """The bytes of training a network of layers `widths`, the input first, in parts of a graph of that size."""
    needs = training_bytes(size, widths)
    held = needs.graph + needs.features
    prepared = held + needs.operator + (needs.copied or needs.propagated)
    return PartsBytes(
        building=needs.features + needs.building,
        dividing=held + METIS_NUMBER * (2 * size.directions + size.nodes + 1),
        part_degrees=held + needs.features,
        whole_degrees=max(prepared, held + needs.preparing),
        evaluation=prepared + evaluation_bytes(size, widths),
    )
