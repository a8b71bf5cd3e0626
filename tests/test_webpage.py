import base64
import hashlib
import re

from s2gnn.webpage import webpage
from tests.pages import Outline


def test_a_sound_page_that_loads_nothing():
    text = webpage("a < b", "<p>hello</p>")
    page = Outline(text)
    assert "a < b" in page.text
    assert "default-src 'none'" in text
    assert "script-src" not in text
    assert "http:" not in text


def test_only_the_scripts_own_digest_is_allowed():
    script = 'console.log("é");'
    text = webpage("t", "", script=script)
    (digest,) = re.findall(r"script-src 'sha256-([^']*)'", text)
    assert base64.b64decode(digest) == hashlib.sha256(script.encode()).digest()
    assert f"<script>{script}</script>" in text
