"""The demo of `s2gnn demo`: handwritten digits, a tenth of them labelled."""

from s2gnn.demo.comparison import METHODS, Comparison, Score, compare
from s2gnn.demo.figure import draw

__all__ = ["METHODS", "Comparison", "Score", "compare", "draw"]
