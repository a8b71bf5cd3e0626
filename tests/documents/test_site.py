"""The site builds without a warning, needs no network, has no dead link, and every public name is in its reference."""

import importlib
import json
import os
import re
import warnings
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest
from sphinx.cmd.build import build_main
from sphinx.util.inventory import InventoryFile

from tests.documents.pages import ROOT, blocks, title

PACKAGES = (
    "graphs", "operators", "nn", "pyg", "estimator", "labelling", "report", "data", "tables", "learning", "links",
    "analysis", "experiments",
)  # fmt: skip


class Page(HTMLParser):
    """The anchors of a page, what it links to, and what a browser loads with it."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors.add(found.get("id"))
        if tag == "a" and found.get("href"):
            self.links.add(found["href"])
        if tag in ("script", "img", "iframe", "source") and found.get("src"):
            self.loaded.add(found["src"])
        if tag == "link" and found.get("rel") not in ("index", "search", "next", "prev"):
            self.loaded.add(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site, and its pages by path."""
    out = tmp_path_factory.mktemp("site")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Sphinx and what it uses, not of ours
        code = build_main(["-q", "-W", "--keep-going", "-b", "html", str(ROOT / "docs"), str(out)])
    assert code == 0
    return out, {path: Page(path.read_text(encoding="utf-8")) for path in sorted(out.rglob("*.html"))}


def test_every_link_resolves(site):
    out, pages = site
    assert len(pages) > 30
    for path, page in pages.items():
        for link in page.links | page.loaded:
            if link.startswith(("https://", "http://", "data:")):
                continue
            file, _, anchor = unquote(link.partition("?")[0] if "#" not in link else link).partition("#")
            target = (path.parent / file.partition("?")[0]).resolve() if file else path
            assert target.is_relative_to(out), f"{path.name}: {link}"
            assert target.exists(), f"{path.name}: {link}"
            assert not anchor or anchor in pages[target].anchors, f"{path.name}: {link}"


def test_nothing_comes_from_the_network(site):
    out, pages = site
    assert not {link for page in pages.values() for link in page.loaded if "//" in link.partition("?")[0]}
    for sheet in out.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def test_formulas_are_mathml(site):
    out, _ = site
    assert "<math" in (out / "mathematics.html").read_text(encoding="utf-8")
    assert "<math" in (out / "api" / "operators.html").read_text(encoding="utf-8")


def test_every_public_name_is_in_the_reference(site):
    out, _ = site
    with (out / "objects.inv").open("rb") as stream:
        inventory = InventoryFile.load(stream, "", os.path.join)
    documented = {name for kind, found in inventory.items() if kind.startswith("py:") for name in found}
    for package in PACKAGES:
        module = importlib.import_module(f"s2gnn.{package}")
        missing = {name for name in module.__all__ if f"{module.__name__}.{name}" not in documented}
        assert not missing, package


def test_commands_in_the_text_can_be_copied(site):
    out, _ = site
    text = (out / "results.html").read_text(encoding="utf-8")
    assert "s2gnn study run table3-proteins --budget long" in text
    assert not re.search(r"–(budget|data|jobs|models|protocol|seeds|set)\b", text)


def test_types_of_other_packages_are_links(site):
    out, pages = site
    links = pages[out / "api" / "nn.html"].links
    assert "https://docs.pytorch.org/docs/stable/tensors.html#torch.Tensor" in links
    assert "operators.html#s2gnn.operators.SobolevOperator" in links
    text = (out / "api" / "nn.html").read_text(encoding="utf-8")
    assert text.index('id="s2gnn.nn.S2Conv"') < text.index('id="s2gnn.nn.S2GNN"') < text.index('id="s2gnn.nn.GCN"')
    assert "Shapes</p>" in text
    assert " -- " not in text


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "tutorials").glob("*.md")), ids=title)
def test_a_tutorial_can_be_downloaded_as_a_notebook(site, page):
    out, pages = site
    assert f"{page.stem}.ipynb" in pages[out / "tutorials" / f"{page.stem}.html"].links
    notebook = json.loads((out / "tutorials" / f"{page.stem}.ipynb").read_text(encoding="utf-8"))
    assert (notebook["nbformat"], len({cell["id"] for cell in notebook["cells"]})) == (4, len(notebook["cells"]))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    run = [block for block in blocks(page) if block.language in ("python", "bash") and block.reason is None]
    assert [cell["source"].replace("!s2gnn", "s2gnn") for cell in cells] == [block.text.rstrip() for block in run]
    text = "".join(cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    shown = {output["text"] for cell in cells for output in cell["outputs"]}
    assert all((block.text in shown) != (block.text in text) for block in blocks(page) if block.language == "text")
    assert shown
    assert "](../" not in text


FITS = """(() => {
  const lines = (cell) => cell.getClientRects()[0].height / parseFloat(getComputedStyle(cell).lineHeight);
  const text = document.querySelector("article");
  return {
    width: document.documentElement.scrollWidth,
    wrapped: [...text.querySelectorAll("td.number > p")].filter((cell) => lines(cell) > 1.5).length,
    numbers: text.querySelectorAll("td.number").length,
    wide: [...text.querySelectorAll("pre")].filter((code) => code.scrollWidth > code.clientWidth + 1).length,
  };
})()"""


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("page", ["index", "mathematics", "results", "api/nn"])
def test_a_page_fits_the_screen(site, browser, page, width):
    browser.open(site[0] / f"{page}.html", width=width)
    found = browser.run(FITS)
    assert found["width"] == width
    assert found["wrapped"] == 0
    assert found["numbers"] > 100 or page != "results"
    assert found["wide"] == 0 or width < 600
    assert browser.complaints() == []


def test_the_menus_of_a_phone_open(site, browser):
    browser.open(site[0] / "results.html", width=390)
    for menu, drawer in (("__navigation", ".sidebar-drawer"), ("__toc", ".toc-drawer")):
        left = f"document.querySelector('{drawer}').getBoundingClientRect().left"
        assert not 0 <= browser.run(left) < 390
        browser.run(f"document.querySelector('label[for={menu}]').click(), new Promise(done => setTimeout(done, 400))")
        assert 0 <= browser.run(left) < 390
        browser.run(f"document.getElementById('{menu}').checked = false")
