"""A self-contained HTML page: one file, one style, nothing loaded from anywhere."""

import base64
import hashlib
import html
from pathlib import Path

_STYLE = Path(__file__).with_name("style.css")


def webpage(title: str, body: str, *, style: str = "", script: str = "", sources: str = "") -> str:
    """Return the whole page, with a policy that forbids the browser to load anything or to run any other script.

    Args:
        title: plain text.
        body: HTML.
        style: further CSS.
        script: JavaScript, run after the body is loaded.
        sources: directives of the policy that allow more, such as "img-src 'self'; ".
    """
    css = _STYLE.read_text(encoding="utf-8") + style
    allowed = f"script-src 'sha256-{_digest(script)}'; " if script else ""
    policy = f"default-src 'none'; {allowed}{sources}style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{css}</style>\n</head>\n<body>\n{body}\n"
        + (f"<script>{script}</script>\n" if script else "")
        + "</body>\n</html>\n"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
