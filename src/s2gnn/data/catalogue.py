"""The named data sets: their files, publishers, licences, the paper's choices and the paper's figures."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, get_args

from s2gnn.errors import InputError, unknown_name
from s2gnn.graphs.validation import check_choice

Kind = Literal["knn", "smooth", "diffusion", "given"]
Task = Literal["nodes", "graphs"]


def graph_title(kind: str, k: int | None) -> str:
    """A short description of a graph: its kind, and its k if it has one."""
    return kind if k is None else f"{kind}, k = {k}"


@dataclass(frozen=True)
class Original:
    """One file as its publisher ships it; `sha256` is `None` if unknown, so that a download stays unverified."""

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
        nodes: N.
        edges: of the k-NN graph, of the diffusion for citation networks, of the given graph for proteins.
        learned_edges: of the learned graph; `None` if the paper has none.
    """

    nodes: int
    edges: int
    learned_edges: int | None = None


@dataclass(frozen=True)
class DatasetInfo:
    """One named data set, a table of catalogue.toml.

    Attributes:
        name: as in `load_dataset`, or `load_collection` where graphs are classified.
        title: a short description.
        rows: N after preprocessing, or the number of graphs.
        features: M.
        classes: C, or the number of labels.
        kind: of the graph in the paper's Table I, and the default of `s2gnn data info`.
        licence: if known.
        citation: authors and year.
        file: in the data folder; `None` if the data comes with scikit-learn.
        originals: the publisher's files that `file` is made from; empty if nobody publishes it.
        k: of the paper's k-NN and learned graphs.
        published: the paper's figures; `None` if the paper does not have this data set.
        otherwise: how to get `file` when there are no originals.
        recipe: increased when the preprocessing changes, which distinguishes results before and after.
        task: whether the "nodes" of one graph are classified or many "graphs".
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
        """Whether a download is checked: there are originals, and each has a known sha256."""
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
    """What is known about the data set called `name`."""
    if name not in CATALOGUE:
        raise unknown_name("there is no data set", name, CATALOGUE)
    return CATALOGUE[name]


def graph_k(name: str, kind: Kind, k: int | None) -> int | None:
    """The k of a graph of this kind on the data set called `name`, by default the paper's; `None` if it has none."""
    check_choice("the kind of graph", kind, get_args(Kind))
    if kind in ("knn", "smooth"):
        known = CATALOGUE.get(name)
        return k if k is not None else known.k if known else DatasetInfo.k
    if k is not None:
        raise InputError(f"k is {k}, but a {kind} graph has no k: omit it")
    return None
