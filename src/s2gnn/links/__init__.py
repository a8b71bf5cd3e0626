"""Link prediction: predict held-out edges from node features and the other edges."""

from s2gnn.links.decoders import DECODERS, DecoderName, DotDecoder, MLPDecoder
from s2gnn.links.fit import fit_links
from s2gnn.links.metrics import LinkScores, hits_at, link_scores
from s2gnn.links.non_edges import NonEdges
from s2gnn.links.predictor import LinkPredictor, predict_links, score_links
from s2gnn.links.split import LinkSplit, Pairs, split_links

__all__ = [
    "DECODERS",
    "DecoderName",
    "DotDecoder",
    "LinkPredictor",
    "LinkScores",
    "LinkSplit",
    "MLPDecoder",
    "NonEdges",
    "Pairs",
    "fit_links",
    "hits_at",
    "link_scores",
    "predict_links",
    "score_links",
    "split_links",
]
