"""The readers of untrusted files, each as a function of the bytes of its file.

Each also uses what it read, as a command would. It may raise `ALLOWED`; anything else is a defect.
"""

import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

from s2gnn import S2GNN, Graph, InputError, SobolevOperator
from s2gnn.data.loading import read_posts
from s2gnn.data.tu import read_tu
from s2gnn.errors import NonFiniteLossError
from s2gnn.estimator import ModelCard, TableModel
from s2gnn.estimator.card import card_page
from s2gnn.experiments.records import Records, as_frame
from s2gnn.experiments.summary import summary_table
from s2gnn.graphs import largest_component, load_graph
from s2gnn.learning import FitConfig, fit
from s2gnn.learning.checkpoint import Checkpoint
from s2gnn.render import render
from s2gnn.tables import encode_table, read_table
from s2gnn.tables.edges import read_edges

ALLOWED = (InputError, NonFiniteLossError)
CORPUS = Path(__file__).parent / "corpus"
DESCRIPTION, DIGESTED = "estimator.json", ("model.safetensors", "training.npz")

TABLE = "name,size,kind,y\n" + "".join(
    f"r{row},{row * 0.37 % 1:.3f},{'uv'[row % 2]},{'' if row % 3 else 'ab'[row % 2]}\n" for row in range(12)
)
GRAPH = Graph.from_edge_list([(0, 1), (1, 2), (2, 3), (0, 3)], weights=[1.0, 2.0, 0.5, 1.0])
FEATURES = torch.tensor([[0.0, 1.0], [1.0, 0.5], [0.2, 0.3], [0.9, 0.1]])
EPOCHS = 3
LONGEST = 4_000  # characters of a message


def read_csv(path: Path) -> None:
    """A table with its last column as the label."""
    found = read_table(path)
    encode_table(found, list(found.columns)[-1])


def read_edge_list(path: Path) -> None:
    """Edges between the rows of a table, which are named if the first edge begins with a letter."""
    rows = path.with_name("rows.csv")
    rows.write_text(TABLE)
    first = path.read_bytes().partition(b"\n")[2][:1]
    read_edges(path, read_table(rows), "name" if first.isalpha() else None)


def read_graph(path: Path) -> None:
    """A graph, and its largest component."""
    found = load_graph(path)
    repr(largest_component(found))


def read_model(path: Path) -> None:
    """A model folder, packed as one archive; its digests are recomputed, as an attacker would."""
    folder = path.with_name("folder")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        with zipfile.ZipFile(path) as members:
            files = {Path(name).name: members.read(name) for name in members.namelist()}
        for name, content in files.items():
            (folder / name).write_bytes(sealed(content, files) if name == DESCRIPTION else content)
    except Exception:  # noqa: BLE001  not the reader that is tested
        return
    model = TableModel.load(folder)
    rows = path.with_name("rows.csv")
    rows.write_text(TABLE.replace("0.", "0.1"))
    model.predict(read_table(rows))
    list(model.explain(read_table(rows)))
    card_page(ModelCard() if model.estimator.targets_ is None else model.card(), model.estimator)


def sealed(description: bytes, files: Mapping[str, bytes]) -> bytes:
    """The description of a model with the digests of its files, if it is a JSON object."""
    try:
        found = json.loads(description)
    except (ValueError, RecursionError):
        return description
    if not isinstance(found, dict):
        return description
    digests = {name: hashlib.sha256(files[name]).hexdigest() for name in DIGESTED if name in files}
    return json.dumps(found | {"sha256": digests}).encode()


def read_records(path: Path) -> None:
    """Records as tables."""
    as_frame(Records(path).read())
    render(summary_table(path), "text")


def read_checkpoint(path: Path) -> None:
    """A training run that is resumed."""
    torch.manual_seed(0)
    network, operator = S2GNN(2, 3, 2, alpha=1), SobolevOperator(GRAPH, alpha=1)
    config = FitConfig(epochs=EPOCHS)
    fit(network, FEATURES, operator, [0, 1, 0, 1], [0, 1], [2, 3], config=config, checkpoint=Checkpoint(path, every=1))


def read_graphs(path: Path) -> None:
    """Many graphs in a publisher's archive."""
    read_tu(path, "few", attributes=True)


def read_archive(path: Path) -> None:
    """The posts of 20 Newsgroups."""
    read_posts(path)


READERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "csv": ("table.csv", read_csv),
    "edges": ("edges.csv", read_edge_list),
    "graph": ("graph.npz", read_graph),
    "model": ("model.zip", read_model),
    "records": ("records.jsonl", read_records),
    "checkpoint": ("run.safetensors", read_checkpoint),
    "arrays": ("table.npz", read_csv),
    "gzipped": ("table.csv.gz", read_csv),
    "graphs": ("few.zip", read_graphs),
    "posts": ("posts.tar.gz", read_archive),
}


def reader(name: str, folder: Path) -> Callable[[bytes], None]:
    """The reader called `name` as a function of the bytes of its file, which is written into `folder`."""
    file, read = READERS[name]

    def call(content: bytes) -> None:
        (folder / file).write_bytes(content)
        try:
            read(folder / file)
        except ALLOWED as error:
            if not 0 < len(str(error)) <= LONGEST:
                raise AssertionError(f"not a sentence: {error}") from error

    return call
