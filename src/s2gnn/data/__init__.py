"""Data from outside: people's own tables, and the named data sets of the paper."""

from s2gnn.data.catalogue import CATALOGUE, Entry, Kind, Original, Published, entry
from s2gnn.data.collection import GraphCollection
from s2gnn.data.construction import collection_graphs, dataset_graph
from s2gnn.data.dataset import Dataset
from s2gnn.data.fetching import fetch, whereabouts
from s2gnn.data.loading import load_collection, load_dataset
from s2gnn.data.ogbn_proteins import load_ogbn_proteins
from s2gnn.data.places import cache_folder, data_file
from s2gnn.data.splits import TEST_SEEDS, VALIDATION_SEEDS, Split, dataset_split, fold_split, paper_split, random_split
from s2gnn.data.statistics import Statistic, collection_statistics, statistics
from s2gnn.data.tables import Table, read_table
from s2gnn.data.tu import read_tu

__all__ = [
    "CATALOGUE",
    "TEST_SEEDS",
    "VALIDATION_SEEDS",
    "Dataset",
    "Entry",
    "GraphCollection",
    "Kind",
    "Original",
    "Published",
    "Split",
    "Statistic",
    "Table",
    "cache_folder",
    "collection_graphs",
    "collection_statistics",
    "data_file",
    "dataset_graph",
    "dataset_split",
    "entry",
    "fetch",
    "fold_split",
    "load_collection",
    "load_dataset",
    "load_ogbn_proteins",
    "paper_split",
    "random_split",
    "read_table",
    "read_tu",
    "statistics",
    "whereabouts",
]
