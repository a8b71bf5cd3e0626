"""Every link between the pages, and from them to files of the project, resolves; every name in them exists."""

import importlib
import re
from functools import cache

import pytest

from s2gnn.cli.commands import COMMANDS
from tests.documents.pages import PAGES, ROOT, headings, links, prose, title


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_links_resolve(page):
    for file, heading in links(page):
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), file
        assert not heading or heading in headings(target), f"{file}#{heading}"


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_names_exist(page):
    for name in re.findall(r"`(s2gnn(?:\.\w+)+)`", prose(page)):
        assert _exists(name), name


def test_every_command_is_on_its_page():
    page = prose(ROOT / "docs" / "commands.md")
    assert all(f"| `s2gnn {command}" in page for command in COMMANDS)


@cache
def _exists(name):
    """Whether a dotted name is a module, or something in one."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        return hasattr(importlib.import_module(module), attribute)
    return True
