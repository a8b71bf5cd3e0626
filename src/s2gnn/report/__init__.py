"""The page a person looks at: what a model says, how good it is, and what it depends on."""

from s2gnn.report.content import Content, measure
from s2gnn.report.page import report_page, write_report
from s2gnn.report.subject import Subject, load_subject

__all__ = ["Content", "Subject", "load_subject", "measure", "report_page", "write_report"]
