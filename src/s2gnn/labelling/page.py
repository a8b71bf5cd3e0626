"""The labelling page; all content of the table reaches it as JSON and is shown as text."""

import html
from pathlib import Path

from s2gnn.webpage import webpage

SOURCES = "connect-src 'self'; img-src 'self'; "  # the page may ask its own server
_HERE = Path(__file__).parent

BODY = """
<header>
<h1><bdi>{label}</bdi> <small>in <bdi>{table}</bdi></small></h1>
<p id="status" role="status"></p>
</header>
<p id="problem" role="alert" hidden></p>
<main>
<section id="row" aria-labelledby="name">
<h2><small id="number"></small><span id="name" dir="auto"></span></h2>
<figure id="picture" hidden><img alt=""><figcaption hidden></figcaption></figure>
<blockquote id="text" dir="auto" hidden></blockquote>
<div id="done" hidden><p id="left"></p><p>Train a model on the labels:</p><pre></pre></div>
<div id="decide">
<p id="prediction"></p>
<div id="choices" role="group" aria-label="Classes"></div>
<form id="adding" hidden>
<label for="new-class">New class</label>
<input id="new-class" maxlength="200" autocomplete="off">
<button type="submit">Add</button>
<button type="button" id="cancel">Cancel</button>
</form>
<p id="tools">
<button type="button" id="skip"><kbd>s</kbd>Skip</button>
<button type="button" id="undo"><kbd>u</kbd>Undo</button>
<button type="button" id="new"><kbd>n</kbd>New class</button>
<span id="saved" class="quiet" role="status" dir="auto"></span>
</p>
</div>
<details id="comparison" open>
<summary></summary>
<div class="scroll" tabindex="0" role="region" aria-label="Columns">
<table id="columns"><thead></thead><tbody></tbody></table>
</div>
</details>
</section>
<aside aria-label="Progress">
<p id="labelled"></p>
<div id="bar"><div></div></div>
<table id="counts"><thead><tr><th scope="col">class</th><th scope="col">labels</th></tr></thead><tbody></tbody></table>
<p id="skipped" hidden><span></span> <button type="button" class="link">Show again</button></p>
<div id="estimates">
<div id="accuracy" hidden>
<h3>Estimated accuracy</h3>
<p><b></b> <span class="quiet"></span></p>
<div class="interval" aria-hidden="true"><div></div><i></i></div>
</div>
<div id="uncertain" hidden>
<h3>Uncertain rows</h3>
<p><b></b> <span class="quiet">with a probability below 80 %</span></p>
</div>
</div>
<p id="advice"></p>
<p id="file" class="quiet"></p>
</aside>
</main>
"""


def labelling_page(label: str, source: str) -> str:
    """Return the page for the column `label` of the table at `source`."""
    table = Path(source).name
    return webpage(
        f"Label {label} in {table}",
        BODY.format(label=html.escape(label), table=html.escape(table)),
        style=(_HERE / "label.css").read_text(encoding="utf-8"),
        script=(_HERE / "label.js").read_text(encoding="utf-8"),
        sources=SOURCES,
    )
