"""A release has one version everywhere, and what GitHub would run is what continuous integration runs here."""

import re
import tomllib

import pytest
import yaml

from tests.documents.pages import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GITHUB = ROOT / ".github"
WORKFLOWS = sorted(GITHUB.glob("workflows/*.yml"))
FORMS = sorted(path for path in GITHUB.glob("ISSUE_TEMPLATE/*.yml") if path.stem != "config")


def read(path):
    # YAML 1.1 takes the key `on` for true.
    return yaml.safe_load(path.read_text(encoding="utf-8").replace("\non:\n", "\n'on':\n"))


def commands(name):
    """The commands of a workflow, line by line."""
    jobs = read(GITHUB / "workflows" / name)["jobs"].values()
    return [line for job in jobs for step in job["steps"] for line in step.get("run", "").splitlines()]


def test_every_place_has_the_version_and_date_of_the_latest_release():
    latest, date = re.search(
        r"^## (\d+\.\d+\.\d+) - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    ).groups()
    citation = read(ROOT / "CITATION.cff")
    assert PYPROJECT["project"]["version"] == latest
    assert (citation["version"], str(citation["date-released"])) == (latest, date)
    assert f"version = {{{latest}}}" in (ROOT / "docs" / "citation.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_one_that_github_accepts(path):
    workflow = read(path)
    assert workflow.keys() >= {"name", "on", "permissions", "jobs"}
    for job in workflow["jobs"].values():
        assert job["runs-on"]
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= workflow["jobs"].keys()
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+(\.\d+)*|release/v\d+)", step.get("uses", "a/b@v1"))


def test_the_workflows_call_what_continuous_integration_calls():
    assert commands("test.yml") == [".ci/run"]
    assert commands("docs.yml") == ["make docs"]
    assert "python .ci/smoke.py" in commands("wheels.yml")
    assert PYPROJECT["tool"]["cibuildwheel"]["test-command"].endswith("/.ci/smoke.py")
    assert re.search(r"\bmake test$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    targets = re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {"test", "docs"} <= set(targets)


def test_the_oldest_supported_python_is_tested():
    python = read(GITHUB / "workflows" / "test.yml")["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert PYPROJECT["project"]["requires-python"] == f">={python[0]}"


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_has_what_github_requires(path):
    form = read(path)
    assert form.keys() >= {"name", "description", "body"}
    fields = [field["id"] for field in form["body"]]
    assert len(set(fields)) == len(fields)
    assert all(field["type"] in ("input", "textarea") and field["attributes"]["label"] for field in form["body"])
