"""The catalogue of named data sets: files, publishers, licences, and settings and sizes in the paper."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, get_args

from s2gnn.errors import InputError, unknown_name
from s2gnn.graphs.validation import check_choice

Kind = Literal["knn", "smooth", "diffusion", "given"]
Task = Literal["nodes", "graphs"]


def graph_title(kind: str, k: int | None) -> str:
    """Return a short description of a graph, e.g. "knn, k = 30"."""
    return kind if k is None else f"{kind}, k = {k}"


@dataclass(frozen=True)
class Original:
    """A file of the publisher; `sha256` is `None` if unknown, in which case downloads are not verified."""

    url: str
    sha256: str | None = None

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.url.rsplit("/", 1)[1]


@dataclass(frozen=True)
class Published:
    """The sizes of the graphs in the paper's Table I.

    Attributes:
        nodes: number of nodes N.
        edges: number of edges of the k-NN graph, of the diffusion (citation networks) or of the given graph (proteins).
        learned_edges: number of edges of the learned graph; `None` if the paper has none.
    """

    nodes: int
    edges: int
    learned_edges: int | None = None


@dataclass(frozen=True)
class DatasetInfo:
    """One named data set, a table of catalogue.toml.

    Attributes:
        name: the name in `load_dataset`, or `load_collection` for graph classification.
        title: a short description.
        rows: number of nodes N after preprocessing, or number of graphs.
        features: number of features M.
        classes: number of classes C, or number of labels.
        kind: kind of the graph in the paper's Table I; the default of `s2gnn data info`.
        licence: the licence, if known.
        citation: authors and year.
        file: file in the data folder; `None` if the data is included in scikit-learn.
        originals: the publisher's files that `file` is converted from; empty if it is not published.
        k: k of the paper's k-NN and learned graphs.
        published: sizes in the paper; `None` if the paper does not use this data set.
        otherwise: how to get `file` if there are no originals.
        recipe: version of the preprocessing, which distinguishes results before and after a change.
        task: "nodes" for node classification, "graphs" for graph classification.
    """

    name: str
    title: str
    rows: int
    features: int
    classes: int
    kind: Kind
    licence: str
    citation: str
    file: str | None = None
    originals: tuple[Original, ...] = ()
    k: int = 30
    published: Published | None = None
    otherwise: str = ""
    recipe: int = 1
    task: Task = "nodes"

    @property
    def sha256_known(self) -> bool:
        """Whether downloads are verified, i.e. every original has a known sha256."""
        return bool(self.originals) and all(original.sha256 for original in self.originals)


def _read_catalogue() -> dict[str, DatasetInfo]:
    catalogue = {}
    for name, table in tomllib.loads(files(__package__).joinpath("catalogue.toml").read_text("utf-8")).items():
        table["originals"] = tuple(Original(**original) for original in table.get("originals", ()))
        table["published"] = Published(**table["published"]) if "published" in table else None
        catalogue[name] = DatasetInfo(name=name, **table)
    return catalogue


CATALOGUE: dict[str, DatasetInfo] = _read_catalogue()


def dataset_info(name: str) -> DatasetInfo:
    """Return the entry of the data set `name`."""
    if name not in CATALOGUE:
        raise unknown_name("there is no data set", name, CATALOGUE)
    return CATALOGUE[name]


def graph_k(name: str, kind: Kind, k: int | None) -> int | None:
    """Return the k of this kind of graph on the data set `name`, by default the paper's; `None` for kinds without k."""
    check_choice("the kind of graph", kind, get_args(Kind))
    if kind in ("knn", "smooth"):
        known = CATALOGUE.get(name)
        return k if k is not None else known.k if known else DatasetInfo.k
    if k is not None:
        raise InputError(f"k is {k}, but a {kind} graph has no k: omit it")
    return None
