"""The labelling page; all content of the table reaches it as JSON and is shown as text."""

import html
from pathlib import Path

from s2gnn.webpage import webpage

SOURCES = "connect-src 'self'; img-src 'self'; "  # the page may ask its own server
_HERE = Path(__file__).parent

BODY = """
<header>
<h1>{title}</h1>
<p id="status" role="status"></p>
</header>
<p id="problem" role="alert" hidden></p>
<main>
<section id="row" aria-labelledby="name">
<h2 id="name"></h2>
<figure id="picture" hidden><img alt=""></figure>
<blockquote id="text" hidden></blockquote>
<div id="choices" role="group" aria-label="Classes"></div>
<form id="adding" hidden>
<label for="new-class">New class</label>
<input id="new-class" maxlength="200" autocomplete="off">
<button type="submit">Add</button>
<button type="button" id="cancel">Cancel</button>
</form>
<p class="keys">
<button type="button" id="skip"><kbd>s</kbd> skip</button>
<button type="button" id="undo"><kbd>u</kbd> undo</button>
<button type="button" id="new"><kbd>n</kbd> new class</button>
</p>
<p id="prediction"></p>
<div id="neighbours" hidden>
<h3>Nearest labelled rows</h3>
<ul></ul>
</div>
<div class="scroll"><table id="columns"><tbody></tbody></table></div>
</section>
<aside aria-label="Progress">
<h2>Progress</h2>
<div id="bar"><div></div></div>
<dl id="panel"></dl>
<table id="counts"><thead><tr><th scope="col">class</th><th scope="col">labels</th></tr></thead><tbody></tbody></table>
<p id="advice"></p>
<p id="file" class="quiet"></p>
</aside>
</main>
"""


def labelling_page(label: str, source: str) -> str:
    """The page for the column `label` of the table at `source`."""
    title = f"Label {label} in {Path(source).name}"
    return webpage(
        title,
        BODY.format(title=html.escape(title)),
        style=(_HERE / "label.css").read_text(encoding="utf-8"),
        script=(_HERE / "label.js").read_text(encoding="utf-8"),
        sources=SOURCES,
    )
