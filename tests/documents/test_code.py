"""The code of the documentation runs as it is printed, page by page, and prints what the page shows."""

import shlex
import shutil

import pytest

from s2gnn.estimator import learners
from tests.documents.pages import PAGES, ROOT, blocks, shows, title

WITH_CODE = [
    page for page in PAGES if page.parent != ROOT and any(b.language in ("python", "bash") for b in blocks(page))
]
WITH_REAL_DATA = {"docs/data.md", "docs/howto/pyg-cora.md", "docs/howto/reproduce-table.md", "docs/tutorials/paper.md"}
COLUMNS = 100


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to run a page in: a copy of the records, a separate cache, and forests of the default size."""
    monkeypatch.setattr(learners, "N_TREES", 100)
    shutil.copytree(ROOT / "results", tmp_path / "results")
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", WITH_CODE, ids=title)
def test_the_code_of_a_page_runs(page, request, s2gnn, capsys):
    if title(page) in WITH_REAL_DATA:
        request.getfixturevalue("data_folder")
    names = {"__name__": "page"}
    printed = None
    for block in blocks(page):
        assert block.language, f"line {block.line}: name the language; text, if it is none"
        if block.language == "text" and printed is not None:
            assert shows(block, printed), f"line {block.line} differs from\n{printed}"
        elif block.reason is not None:
            assert block.language == "bash", f"line {block.line}: only commands may be left out"
            printed = None
        elif block.language == "python":
            exec(compile("\n" * (block.line - 1) + block.text, title(page), "exec"), names)
            printed = capsys.readouterr().out
        elif block.language == "bash":
            printed = "".join(_run(s2gnn, command) for command in _commands(block))


def _commands(block):
    """The commands of a block, without their comments."""
    lines = block.text.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def _run(s2gnn, command):
    assert command[0] == "s2gnn", f"{shlex.join(command)}: mark the block as not run, and say why"
    code, out, err = s2gnn(*command[1:], columns=COLUMNS)
    assert code == 0, err
    return out
