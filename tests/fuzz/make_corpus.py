"""Write the small valid files that fuzzing starts from: `python -m tests.fuzz.make_corpus`."""

import gzip
import io
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from s2gnn.data.loading import GROUPS
from s2gnn.estimator import TableModel, learners
from s2gnn.experiments.records import Record, Records
from s2gnn.graphs import save_graph
from s2gnn.tables import encode_table, read_table
from tests.fuzz.readers import CORPUS, GRAPH, TABLE, read_checkpoint

EXPERIMENT = {
    "version": 2, "task": "nodes", "data": "digits", "graph": "knn", "k": 30, "model": "s2gnn", "lr": 0.01,
    "weight_decay": 0.0005, "arguments": {"hidden_channels": 16, "alpha": 2, "fusion": "mlp"},
    "protocol": {"name": "released", "keep": "best", "epochs": 5},
}  # fmt: skip
# Two graphs: an edge and a triangle.
GRAPHS = {
    "A": "1, 2\n2, 1\n3, 4\n4, 3\n4, 5\n5, 4\n3, 5\n5, 3\n",
    "graph_indicator": "1\n1\n2\n2\n2\n",
    "graph_labels": "1\n-1\n",
    "node_labels": "0\n1\n0\n2\n1\n",
    "node_attributes": "0.5, 1\n1.5, 2\n-2e3, 0\n0, 0\n1, 1\n",
}


def zipped(files: Mapping[str, bytes | str]) -> bytes:
    """An archive with the time stamps of 1980, so that it does not change."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def models(folder: Path) -> dict[str, bytes]:
    """A classifier and a regressor, and networks alone, of few trees."""
    (folder / "table.csv").write_text(TABLE)
    learners.N_TREES = 2
    table, made = read_table(folder / "table.csv"), {}
    options = {"hidden_channels": 3, "alpha": 1, "max_epochs": 2, "n_networks": 1, "k": 3, "random_state": 0}
    for name, label, more in (
        ("classifier", "y", {"class_weight": {"a": 2.0, "b": 1.0}}),
        ("regressor", "size", {"graph": "smooth"}),
        ("networks", "y", {"network": "s2gnn", "epsilon": "learn"}),
    ):
        identifier = "name" if label == "y" else None
        model = TableModel.fit(encode_table(table, label, identifier=identifier), **options, **more)
        model.save(folder / name)
        files = [path for path in sorted((folder / name).iterdir()) if path.suffix != ".md"]
        made[name] = zipped({path.name: path.read_bytes() for path in files})
    return made


def records(folder: Path) -> bytes:
    """Three runs and a failed trial."""
    file = Records(folder / "records.jsonl")
    budget, versions = {"name": "quick", "epochs": 5, "threads": 1}, {"torch": "2"}
    for seed in range(3):
        metrics = {"test_accuracy": 0.9, "val_accuracy": 0.8, "epoch": 3}
        file.append(Record("ab", seed, EXPERIMENT, metrics, 1.5, budget, "2024-01-01", None, versions))
    file.append(Record("ac", 7, EXPERIMENT, {"epoch": 0}, 1.5, budget, "2024-01-01", "1f", versions, "no memory"))
    return file.path.read_bytes()


def checkpoint(folder: Path) -> bytes:
    """A finished run."""
    read_checkpoint(folder / "run.safetensors")
    return (folder / "run.safetensors").read_bytes()


def arrays(**named: object) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **named)
    return buffer.getvalue()


def posts() -> bytes:
    """One post of each of two groups, as a gzipped TAR archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for group in GROUPS[:2]:
            member = tarfile.TarInfo(f"20news-bydate-train/{group}/7")
            member.size = 5
            archive.addfile(member, io.BytesIO(b"words"))
    return gzip.compress(buffer.getvalue(), mtime=0)


def graph(folder: Path) -> bytes:
    save_graph(GRAPH, folder / "graph.npz")
    return (folder / "graph.npz").read_bytes()


def main() -> None:
    """Rewrite the corpus; findings, whose names begin with `found-`, are left alone."""
    X = np.round(np.random.default_rng(0).random((6, 2)), 2)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = {
            "csv": {
                "table": TABLE.encode(),
                "semicolons": TABLE.replace(",", ";").replace(".", ",").encode(),
                "quoted": b'"a b","c""d",y\n1,"x\ny",2\n3,,\n5,z,1\n',
            },
            "edges": {"numbers": b"from,to,weight\n1,2,0.5\n2,3,1\n", "names": b"a,b\nr1,r2\nr3,r1\n"},
            "graph": {"graph": graph(folder)},
            "model": models(folder),
            "records": {"records": records(folder)},
            "checkpoint": {"run": checkpoint(folder)},
            "arrays": {"numbers": arrays(X=X, y=np.array([0, 1, -1, 0, 1, -1])), "text": arrays(X=X, y=list("ababab"))},
            "graphs": {"few": zipped({f"few/few_{part}.txt": text for part, text in GRAPHS.items()})},
            "posts": {"posts": posts()},
            "gzipped": {"table": gzip.compress(TABLE.encode(), mtime=0)},
        }
    for reader, files in corpus.items():
        (CORPUS / reader).mkdir(parents=True, exist_ok=True)
        for file, content in files.items():
            (CORPUS / reader / file).write_bytes(content)


if __name__ == "__main__":
    main()
