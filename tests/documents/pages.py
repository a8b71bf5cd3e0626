"""The Markdown pages of the project, and what is in them: code, what it prints, headings, links."""

import math
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("results/*.md")])

_BLOCK = re.compile(
    r"^(?:<!-- (?:not run: (?P<reason>[^\n]+)|(?P<computed>computed)) -->\n)?"
    r"```(?P<language>\S*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
_COST = re.compile(r"(?:\d[\d,.]* (?:h|min|s|MiB|GiB)\b ?)+")
_LINK = re.compile(r"\]\((?P<file>[^)#\s]*)(?:#(?P<heading>[^)\s]*))?\)")


@dataclass(frozen=True)
class Block:
    """Code of a page, or what code has printed.

    Attributes:
        language: "python", "bash", "text", …
        text: without the fences.
        line: of the page on which the text begins, counted from 1.
        reason: why the code is not run, as the page says; `None` for code that is.
        computed: whether the times and sizes of what is printed are computed, as the page says, and not measured.
    """

    language: str
    text: str
    line: int
    reason: str | None
    computed: bool


def title(page: Path) -> str:
    """The page by its place in the project."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    source = page.read_text(encoding="utf-8")
    return [
        Block(
            found["language"],
            found["text"],
            source[: found.start("text")].count("\n") + 1,
            found["reason"],
            found["computed"] is not None,
        )
        for found in _BLOCK.finditer(source)
    ]


def prose(page: Path) -> str:
    """A page without its blocks."""
    return _BLOCK.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[tuple[str, str]]:
    """The links of a page that stay in the project: file, "" for the page itself, and heading, "" for its top."""
    found = [(link["file"], link["heading"] or "") for link in _LINK.finditer(prose(page))]
    return [(file, heading) for file, heading in found if not file.startswith(("https://", "http://"))]


def headings(page: Path) -> set[str]:
    """The headings of a page as GitHub and the site name them in links."""
    titles = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def shows(block: Block, printed: str) -> bool:
    """Whether every line of `block` is among those of `printed`, in order.

    Numbers may differ by 5 %, because another processor rounds otherwise and training makes more of it; times and sizes
    of memory that are measured, and so the machine's, by anything.
    """
    lines, rest = (text if block.computed else _COST.sub("COST ", text) for text in (block.text, printed))
    others = iter(rest.splitlines())
    return all(any(_same_line(line, other) for other in others) for line in lines.splitlines())


def _same_line(shown: str, printed: str) -> bool:
    words = [_NUMBER.sub("0", line).split() for line in (shown, printed)]
    numbers = [[float(n.replace(",", "")) for n in _NUMBER.findall(line)] for line in (shown, printed)]
    return words[0] == words[1] and all(map(_close, *numbers))


def _close(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=0.05, abs_tol=0.02)
