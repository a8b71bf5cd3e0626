"""The generated sections of the documents show the stored records."""

import pytest

from s2gnn.cli.study_show import render_section
from s2gnn.render import fill_sections
from tests.documents.pages import PAGES, ROOT, title

WITH_RECORDS = [page for page in PAGES if "<!-- record:" in page.read_text(encoding="utf-8") and page.parent != ROOT]


@pytest.mark.parametrize("page", [ROOT / "README.md", *WITH_RECORDS], ids=title)
def test_a_page_shows_the_records(page):
    text = page.read_text(encoding="utf-8")
    shown = fill_sections(text, lambda name: render_section(ROOT / "results", name))
    assert shown == text, f"run: s2gnn study document {title(page)}"
