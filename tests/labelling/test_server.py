"""What the server answers, to its page and to others."""

import http.client
import json

import pytest

from s2gnn import InputError
from s2gnn.labelling.server import LabellingServer
from tests.labelling.conftest import write_blobs

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def server(serve, tmp_path):
    write_blobs(tmp_path / "blobs.csv")
    return serve(tmp_path / "blobs.csv", classes=("a", "b"))


def ask(server, path="state", body=None, *, token=None, **headers):
    """The status, the headers and the content of a request, by default as the page makes it."""
    host = f"127.0.0.1:{server.server_port}"
    given = {"Host": host}
    if body is not None:
        given |= {"Origin": f"http://{host}", "Content-Type": "application/json"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    method, text = ("GET", None) if body is None else ("POST", body if isinstance(body, str) else json.dumps(body))
    sent = {name: value for name, value in given.items() if value is not None}
    connection.request(method, f"/{token or server.token}/{path}", text, sent)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), content


def test_answers_are_saved_and_the_next_row_comes_back(server):
    first = json.loads(ask(server)[2])["row"]["number"]
    status, _, content = ask(server, "answer", {"row": first, "class": "a"})
    state = json.loads(content)
    assert (status, state["panel"]["labelled"], state["error"]) == (200, 1, None)
    assert state["row"]["number"] != first
    status, _, content = ask(server, "answer", {"row": first, "class": "b"})
    assert (status, "already labelled" in json.loads(content)["error"]) == (409, True)
    assert json.loads(ask(server, "undo", {})[2])["row"]["number"] == first


def test_it_listens_on_the_loopback_only_and_needs_the_token(server):
    assert server.server_address[0] == "127.0.0.1"
    assert len(server.token) >= 32
    assert ask(server, token="x" * 32)[0] == 404
    assert ask(server, "../state", token="é".encode().hex())[0] == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),  # DNS rebinding
        ({"Host": "127.0.0.1"}, 421),
        ({"Origin": "http://evil.example"}, 403),  # cross-site requests
        ({"Origin": "null"}, 403),
        ({"Origin": None}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Length": "99999999"}, 413),
        ({"Content_Length": "-1"}, 413),
    ],
)
def test_requests_of_others_change_nothing(server, headers, status):
    assert ask(server, "answer", {"row": 0, "class": "a"}, **headers)[0] == status
    assert set(server.session.copy.labels) == {""}


@pytest.mark.parametrize("body", ["{", "[]", '{"row": "0", "class": "a"}', '{"row": true, "class": "a"}', "{}"])
def test_malformed_requests_are_refused(server, body):
    assert ask(server, "answer", body)[0] == 400


def test_the_page_cannot_be_framed_and_runs_its_own_script_only(server):
    _, headers, content = ask(server, "")
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert b"default-src 'none'; script-src 'sha256-" in content
    assert "default-src 'none'" in ask(server)[1]["Content-Security-Policy"]


def test_images_are_confined_to_the_folder_of_the_table(serve, tmp_path):
    folder = tmp_path / "table"
    (folder / "images").mkdir(parents=True)
    for path in (folder / "images" / "one.png", tmp_path / "secret.png"):
        path.write_bytes(PNG)
    (folder / "notes.txt").write_text("secret")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "out").symlink_to(tmp_path)
    names = (
        "images/one.png", "../secret.png", str(tmp_path / "secret.png"), "link.png", "out/secret.png", "notes.txt",
        "missing.png", "images", "images/../../secret.png", "",
    )  # fmt: skip
    lines = [f"{place}.5,{name}," for place, name in enumerate(names)]
    (folder / "pictures.csv").write_text("\n".join(["x,path,kind", *lines]) + "\n")
    server = serve(folder / "pictures.csv", image="path", classes=("a",))
    status, headers, content = ask(server, "image/0")
    assert (status, headers["Content-Type"], content) == (200, "image/png", PNG)
    assert [ask(server, f"image/{row}")[0] for row in range(1, 11)] == [404] * 10
    for path in ("image/-1", "image/0/../1", "image/99999999999999999999", "image/٣"[:6], "etc"):
        assert ask(server, path)[0] == 404


def test_a_full_disk_is_reported_and_the_row_stays(server, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", "blobs.labelled.csv")

    monkeypatch.setattr("s2gnn.labelling.labels.write_atomically", full)
    row = json.loads(ask(server)[2])["row"]["number"]
    status, _, content = ask(server, "answer", {"row": row, "class": "a"})
    state = json.loads(content)
    assert (status, state["row"]["number"], state["panel"]["labelled"]) == (507, row, 0)
    assert state["error"] == "Not saved: blobs.labelled.csv cannot be written (No space left on device)."


def test_a_port_in_use_is_named(server):
    with pytest.raises(InputError, match=f"port {server.server_port} cannot be used"):
        LabellingServer(server.session, server.server_port)
