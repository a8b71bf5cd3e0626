"""SuperGAT: attention that also learns to distinguish edges from non-edges (Kim and Oh, 2021)."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from s2gnn.errors import InputError
from s2gnn.nn.baselines.attention import NEGATIVE_SLOPE, AttentionLayer, AttentionNetwork, end_scores, vectors
from s2gnn.nn.baselines.edges import NodePairs
from s2gnn.nn.baselines.stack import GlorotLinear
from s2gnn.operators import SparseInput

NON_EDGES_PER_EDGE = 0.5


class SuperGATLayer(AttentionLayer):
    """GAT with the scores (aᵀ W h_j + cᵀ W h_i) σ((W h_i)ᵀ W h_j); PyG's `SuperGATConv` of type MX.

    σ(·) is also trained to predict whether (i, j) is an edge: `guess_loss` is the cross-entropy of the last forward
    pass. Arguments: see `SuperGAT`; shapes: see `AttentionLayer`.
    """

    def __init__(self, in_channels: int, out_channels: int, *, heads: int = 1, attention_loss: float = 1.0) -> None:
        super().__init__(in_channels, out_channels, heads=heads)
        if not (isinstance(attention_loss, int | float) and math.isfinite(attention_loss) and attention_loss >= 0):
            raise InputError(f"attention_loss is {attention_loss!r}, but a weight is a finite number >= 0")
        self.attention_loss = float(attention_loss)
        self.guess_loss: Tensor | None = None
        self.lin = GlorotLinear(in_channels, heads * out_channels, bias=False)
        self.att_l = vectors(heads, out_channels)
        self.att_r = vectors(heads, out_channels)
        self.bias = nn.Parameter(self.att_l.new_empty(out_channels))
        self.reset_parameters()

    def train(self, mode: bool = True) -> "SuperGATLayer":
        """Set the training mode; evaluation mode discards the loss of the last step."""
        self.guess_loss = self.guess_loss if mode else None
        return super().train(mode)

    def forward(self, x: Tensor | SparseInput, edges: NodePairs) -> Tensor:
        """Return the layer's output before its activation, (N, out_channels); in training also `guess_loss`."""
        h = self._by_head(self.lin(x))  # (N, heads, C)
        guesses = edges.dot(h, h)  # (heads, E)
        if self.training and self.attention_loss > 0:
            self.guess_loss = _cross_entropy(guesses, non_edges(edges).dot(h, h))
        scores = end_scores(h, self.att_r, self.att_l, edges, slope=1.0) * guesses.sigmoid()
        return edges.attend(F.leaky_relu(scores, NEGATIVE_SLOPE), h) + self.bias


def _cross_entropy(edges: Tensor, others: Tensor) -> Tensor:
    """Return the cross-entropy of edges against non-edges, averaged over the heads."""
    guesses = torch.cat([edges, others], dim=1).mean(0)
    truth = torch.arange(len(guesses), device=guesses.device) < edges.shape[1]
    return F.binary_cross_entropy_with_logits(guesses, truth.to(guesses))


def non_edges(edges: NodePairs) -> NodePairs:
    """Sample about `NON_EDGES_PER_EDGE` non-edges for each edge, in both directions.

    In a disjoint union the pairs are within graphs, about `NON_EDGES_PER_EDGE` for each edge of a graph, fewer in a
    nearly complete graph, and none in a complete one.
    """
    n = edges.n_nodes
    drawn = _of_one_graph(edges) if edges.graph_sizes is None else _of_each_graph(edges, edges.graph_sizes)
    both = torch.cat([drawn, drawn % n * n + drawn // n])
    return NodePairs(torch.unique(both), n, edges.graph_sizes)


def _of_one_graph(edges: NodePairs) -> Tensor:
    """Return codes of one direction of the pairs in a single graph, by rejection of edges."""
    n = edges.n_nodes
    share = 1 - len(edges) / n**2
    if share == 0:
        return edges.codes[:0]
    drawn = torch.randint(n**2, (math.ceil(NON_EDGES_PER_EDGE * len(edges) / share / 2),), device=edges.codes.device)
    position = torch.searchsorted(edges.codes, drawn).clamp(max=len(edges) - 1)
    return drawn[edges.codes[position] != drawn]


def _of_each_graph(edges: NodePairs, sizes: Tensor) -> Tensor:
    """Return codes of one direction of the pairs in each graph, by rank, as rejection is slow in dense graphs.

    Pairs are numbered row by row, graph by graph. The non-edge of rank r is preceded by r other non-edges, and by all
    edges that at most r non-edges precede.
    """
    graph_of_node = torch.repeat_interleave(sizes)
    ends = sizes.cumsum(0)
    starts = ends - sizes
    n_edges = edges.offsets[ends] - edges.offsets[starts]  # (G,)
    n_others = sizes**2 - n_edges
    wanted = torch.ceil(NON_EDGES_PER_EDGE / 2 * n_edges).long() * (n_others > 0)
    graph = torch.repeat_interleave(wanted)  # of every draw
    drawn = torch.randint(2**62, graph.shape, device=graph.device) % n_others[graph]
    ranks = (n_others.cumsum(0) - n_others)[graph] + drawn

    widths = sizes[graph_of_node]
    first = widths.cumsum(0) - widths  # the number of the first pair of every row, (N,)
    shifts = first - starts[graph_of_node]  # the number of (i, j) is that of i plus j
    others_before = shifts[edges.rows] + edges.columns - torch.arange(len(edges), device=graph.device)
    numbers = ranks + torch.searchsorted(others_before, ranks, right=True)
    rows = torch.searchsorted(first, numbers, right=True) - 1
    return rows * edges.n_nodes + numbers - shifts[rows]


class SuperGAT(AttentionNetwork):
    """A stack of `SuperGATLayer`; further arguments and shapes are those of `AttentionNetwork`.

    Args:
        attention_loss: weight of the self-supervised loss, default 1; the authors' code corresponds to 0.
    """

    LAYER = SuperGATLayer

    def auxiliary_loss(self) -> Tensor:
        """Return `attention_loss` times the cross-entropy of edges against non-edges in the last forward pass.

        It is summed over the layers, and zero outside training.
        """
        layers = [layer for layer in self.layers if isinstance(layer, SuperGATLayer)]
        losses = [layer.guess_loss for layer in layers if layer.guess_loss is not None]
        if not losses:
            return self.parameter.new_zeros(())
        return layers[0].attention_loss * torch.stack(losses).sum()
