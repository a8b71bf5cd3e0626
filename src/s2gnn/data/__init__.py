"""The named data sets of the paper and their splits."""

import warnings
from typing import Any

from s2gnn.data.catalogue import CATALOGUE, DatasetInfo, Kind, Original, Published, dataset_info
from s2gnn.data.construction import collection_graphs, dataset_graph
from s2gnn.data.dataset import Dataset, GraphCollection
from s2gnn.data.fetching import cache_folder, data_file, fetch, whereabouts
from s2gnn.data.loading import load_collection, load_dataset
from s2gnn.data.ogbn_proteins import load_ogbn_proteins
from s2gnn.data.splits import TEST_SEEDS, VALIDATION_SEEDS, Split, dataset_split, fold_split, paper_split, random_split
from s2gnn.data.statistics import Statistic, collection_statistics, statistics
from s2gnn.data.tu import read_tu

__all__ = [
    "CATALOGUE",
    "TEST_SEEDS",
    "VALIDATION_SEEDS",
    "Dataset",
    "DatasetInfo",
    "GraphCollection",
    "Kind",
    "Original",
    "Published",
    "Split",
    "Statistic",
    "cache_folder",
    "collection_graphs",
    "collection_statistics",
    "data_file",
    "dataset_graph",
    "dataset_info",
    "dataset_split",
    "fetch",
    "fold_split",
    "load_collection",
    "load_dataset",
    "load_ogbn_proteins",
    "paper_split",
    "random_split",
    "read_tu",
    "statistics",
    "whereabouts",
]


def __getattr__(name: str) -> Any:
    if name not in ("Table", "read_table"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from s2gnn import tables

    warnings.warn(f"s2gnn.data.{name} moved to s2gnn.tables", DeprecationWarning, stacklevel=2)
    return getattr(tables, name)
