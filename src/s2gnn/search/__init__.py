"""Search for hyperparameters on validation nodes, by any number of processes and machines."""

from s2gnn.search.study import SearchConfig, SearchResult, search, search_result

__all__ = ["SearchConfig", "SearchResult", "search", "search_result"]
