"""Which rows of a table to label next, and the local page to label them on."""

from s2gnn.labelling.strategies import STRATEGIES, Strategy, suggest

__all__ = ["STRATEGIES", "Strategy", "suggest"]
