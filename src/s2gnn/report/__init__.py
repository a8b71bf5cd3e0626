"""The page a person looks at: what a model says, how good it is, and what it depends on."""

from s2gnn.report.page import write_report

__all__ = ["write_report"]
