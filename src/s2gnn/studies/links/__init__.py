"""The study of link prediction: auto-encoders of citation networks, S2-GNN beside GCN and MLP."""

from s2gnn.studies.links.cell import LinkCell, make_link_cell
from s2gnn.studies.links.results import LinkResult, link_result
from s2gnn.studies.links.table import LINKS, LinkRow, LinkTable

__all__ = ["LINKS", "LinkCell", "LinkResult", "LinkRow", "LinkTable", "link_result", "make_link_cell"]
