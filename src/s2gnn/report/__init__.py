"""The HTML report on a model: its data and graph, how accurate it is, and what to label next."""

from s2gnn.report.page import write_report

__all__ = ["write_report"]
