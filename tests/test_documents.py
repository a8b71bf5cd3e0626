"""The code of README and docstrings runs; the pages of docs/ are tested in tests/documents."""

import doctest
import importlib
import json
import pkgutil
import re
from pathlib import Path

import pytest

import s2gnn

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
WITH_EXAMPLES = {
    "s2gnn.estimator.classifier",
    "s2gnn.estimator.table_model",
    "s2gnn.graphs.graph",
    "s2gnn.graphs.knn",
    "s2gnn.graphs.partition",
    "s2gnn.graphs.selection",
    "s2gnn.labelling.strategies",
    "s2gnn.graphs.union",
    "s2gnn.links.predictor",
    "s2gnn.nn.network",
    "s2gnn.nn.parts",
    "s2gnn.nn.s2gnn",
    "s2gnn.operators.family",
    "s2gnn.operators.sobolev",
    "s2gnn.pyg.transforms",
    "s2gnn.ranges",
}
NEED_TRITON = {"s2gnn.bench.compiled", "s2gnn.operators.gpu", "s2gnn.operators.gpu_kernels"}
MODULES = [
    module.name for module in pkgutil.walk_packages(s2gnn.__path__, "s2gnn.") if not module.name.endswith("__main__")
]


@pytest.mark.parametrize(
    ("block", "shown"),
    re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", README, re.DOTALL),
    ids=["table", "pyg"],
)
def test_readme_blocks_print_what_is_shown(block, shown, capsys):
    exec(compile(block, "README.md", "exec"), {})
    printed, shown = (
        [float(number) for number in re.findall(r"\d\.\d+", text)] for text in (capsys.readouterr().out, shown)
    )
    assert printed == pytest.approx(shown, abs=0.015)  # a prediction or two differ between processors


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    if name in NEED_TRITON:
        pytest.importorskip("triton")
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
    assert (result.attempted > 0) == (name in WITH_EXAMPLES)


def test_public_names_are_importable():
    assert all(hasattr(s2gnn, name) for name in s2gnn.__all__)
    assert re.fullmatch(r"\d+\.\d+\.\d+", s2gnn.__version__)
    assert f"version: {s2gnn.__version__}" in (ROOT / "CITATION.cff").read_text()


def test_records_say_what_made_them():
    records = sorted((ROOT / "results").glob("*.json"))
    assert len(records) >= 3
    for path in records:
        record = json.loads(path.read_text())
        assert record["command"].startswith("s2gnn ")
        assert record["commit"]
        assert record["versions"]["torch"]
        assert f"`{path.name.split('.')[0]}.json`" in (ROOT / "results" / "README.md").read_text()
