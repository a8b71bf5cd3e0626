import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import s2gnn.provenance

SOURCE = Path(s2gnn.__file__).parent / "provenance.py"


@pytest.fixture
def checkout(tmp_path):
    """A repository that holds the module as its package and one record."""
    package = tmp_path / "src" / "package"
    package.mkdir(parents=True)
    shutil.copy(SOURCE, package)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "runs.jsonl").write_text("{}\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "--message=first")
    return tmp_path


def git(folder, *arguments):
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def reported(checkout):
    code = "import provenance; print(provenance.commit())"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=checkout / "src" / "package", check=True, capture_output=True, text=True
    )
    return run.stdout.strip()


def test_the_commit_is_marked_when_code_changed_and_not_when_records_grew(checkout):
    head = git(checkout, "rev-parse", "--short=10", "HEAD")
    assert reported(checkout) == head
    (checkout / "results" / "runs.jsonl").write_text("{}\n{}\n")
    assert reported(checkout) == head
    with (checkout / "src" / "package" / "provenance.py").open("a") as stream:
        stream.write("# changed\n")
    assert reported(checkout) == f"{head}+"


def test_outside_a_checkout_there_is_no_commit(checkout):
    shutil.rmtree(checkout / ".git")
    assert reported(checkout) == "None"


def test_the_processor_has_a_name():
    assert s2gnn.provenance.cpu()
    if Path("/proc/cpuinfo").is_file() and "cpu family" in Path("/proc/cpuinfo").read_text():
        assert re.search(r"\(family \d+, model \d+\)$", s2gnn.provenance.cpu())
