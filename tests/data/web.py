"""A web server in a thread, with ranges, that misbehaves on request."""

import re
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@contextmanager
def web_server(files, manner="ranges"):
    """Serve `files` (bytes by name); gives the address and the list of (name, Range header) asked for.

    Manners: "ranges" is a good server; "no ranges" always sends the whole file; "broken" closes the connection after
    half of what it promised; "wrong range" sends another part than was asked for.
    """
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            name, wanted = self.path.lstrip("/"), self.headers.get("Range")
            asked.append((name, wanted))
            if name not in files:
                self.send_error(404)
                return
            content, start = files[name], 0
            if wanted and manner != "no ranges":
                start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1])
                if start >= len(content):
                    self.send_error(416)
                    return
                told = start - 1 if manner == "wrong range" else start
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {told}-{len(content) - 1}/{len(content)}")
            else:
                self.send_response(200)
            body = content[start:]
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if manner == "broken" else body)

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()
