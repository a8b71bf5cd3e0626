"""LinkPredictor: an encoder that embeds nodes, and a decoder that predicts edges."""

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.graphs.validation import as_indices, check_choice
from s2gnn.links.decoders import DECODERS, DecoderName
from s2gnn.links.metrics import LinkScores, link_scores
from s2gnn.links.split import Pairs
from s2gnn.nn.inputs import Features, NetworkInput
from s2gnn.nn.network import GraphNetwork, Trainable
from s2gnn.operators import GraphOperator


class LinkPredictor(Trainable):
    """A graph auto-encoder: any network of `s2gnn.nn` as the encoder, and a decoder of pairs.

    Args:
        encoder: a network called as `encoder(x, op)`, whose outputs (N, C) are the embeddings.
        decoder: a module called with the embeddings of both nodes, which returns logits; or "dot" or "mlp".
        channels: width C of the embeddings; required if the decoder is given by name.

    Shapes:
        - input: x and operator of the encoder, pairs of nodes (P, 2)
        - output: logits (P,)

    Example:
        >>> import torch
        >>> from s2gnn import Graph, S2GNN
        >>> graph = Graph.from_edge_list([(0, 1), (1, 2)], weights=[0.5, 2.0], n_nodes=4)
        >>> model = LinkPredictor(S2GNN(8, 16, 4), "mlp", 4)
        >>> x, op = model.prepare(torch.ones(4, 8), graph)
        >>> model(x, op, [(0, 2), (1, 3)]).shape
        torch.Size([2])
    """

    def __init__(self, encoder: GraphNetwork, decoder: nn.Module | DecoderName, channels: int | None = None) -> None:
        super().__init__()
        if isinstance(decoder, str):
            check_choice("decoder", decoder, tuple(DECODERS))
            if channels is None:
                raise InputError(f"channels is missing, but the decoder {decoder!r} needs the width of the embeddings")
            decoder = DECODERS[decoder](channels)
        self.encoder = encoder
        self.decoder = decoder

    def prepare(self, x: Features, graph: Graph) -> tuple[NetworkInput, GraphOperator | None]:
        """Prepare constant features x (N, F) on the `graph` of a `LinkSplit`; returns x and operator of `forward`."""
        return self.encoder.prepare(x, graph)

    def forward(self, x: NetworkInput, op: GraphOperator | None, pairs: ArrayLike | Tensor) -> Tensor:
        """Compute the logits (P,) of an edge for each pair (P, 2)."""
        z = self.encoder(x, op)  # (N, C)
        width = getattr(self.decoder, "in_channels", z.shape[1])
        if width != z.shape[1]:
            raise InputError(f"the encoder gives {z.shape[1]} channels, but the decoder is made for {width}")
        ends = torch.as_tensor(_pairs(pairs, z.shape[0]), device=z.device)
        logits: Tensor = self.decoder(z[ends[:, 0]], z[ends[:, 1]])
        return logits


@torch.no_grad()
def predict_links(model: LinkPredictor, x: NetworkInput, op: GraphOperator | None, pairs: ArrayLike | Tensor) -> Tensor:
    """Compute the logits (P,) of an edge for each pair (P, 2); `model` is in evaluation mode afterwards."""
    model.eval()
    return model(x, op, pairs)


def score_links(model: LinkPredictor, x: NetworkInput, op: GraphOperator | None, pairs: Pairs) -> LinkScores:
    """Compute the metrics of `model` on the edges and non-edges of `pairs`; it is in evaluation mode afterwards."""
    logits = predict_links(model, x, op, pairs.together)
    n_edges = len(pairs.positive)
    return link_scores(logits[:n_edges], logits[n_edges:])


def _pairs(pairs: ArrayLike | Tensor, n_nodes: int) -> NDArray[np.int64]:
    indices, _ = as_indices(pairs, n_nodes, "pairs")
    if indices.size == 0:
        indices = indices.reshape(0, 2)
    if indices.ndim != 2 or indices.shape[1] != 2:
        raise InputError(f"pairs has shape {indices.shape}, expected (number of pairs, 2)")
    return indices
