"""A round of `s2gnn label`: seconds from an answer to new suggestions, and how fast the page responds meanwhile."""

import http.client
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd

from s2gnn.bench.fitting import random_table
from s2gnn.bench.record import Row
from s2gnn.labelling.labels import LabelledCopy
from s2gnn.labelling.server import LabellingServer
from s2gnn.labelling.session import Session
from s2gnn.labelling.settings import Settings
from s2gnn.resources import in_own_process

SIZES = ((2_000, 30, 100), (2_000, 30, 200), (20_000, 20, 200))  # rows, columns, labels
POLL = 0.05  # seconds


def time_rounds(most: int) -> Iterator[Row]:
    """Yield one row for each size of up to `most` rows, each in a separate process."""
    for rows, columns, labels in SIZES:
        if rows <= most:
            yield in_own_process(time_round, rows, columns, labels)


def time_round(rows: int, columns: int, labels: int) -> Row:
    """Answer a batch on a page that serves a random table of four classes, while hidden labels are still predicted."""
    X, y = random_table(rows, columns)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        known = np.where(np.arange(rows) < labels, y.astype(str), "")
        pd.DataFrame(X, columns=[f"x{column}" for column in range(columns)]).assign(kind=known).to_csv(
            path, index=False
        )
        session = Session(LabelledCopy.open(path, "kind"), Settings())
        with session.training.in_background(), LabellingServer(session) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            page = _Page(server.address)
            while page.state["training"] == "suggestions":
                page.ask("state")
            used = os.times()
            for _ in range(session.settings.batch):
                row = page.state["row"]["number"]
                page.ask("answer", {"row": row, "class": str(y[row])})
            while page.state["training"] == "suggestions":
                page.ask("state")
            now = os.times()
            seconds = session.training.round.seconds
            server.shutdown()
    return {
        "rows": rows,
        "columns": columns,
        "labels": labels,
        "seconds": seconds,
        "processor_seconds": now.user + now.system - used.user - used.system,
        "median_request_seconds": float(np.median(page.seconds)),
        "slowest_request_seconds": max(page.seconds),
    }


class _Page:
    """What a browser asks of the server: the last state, and the seconds of every request."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._origin, self._path = f"{parts.scheme}://{parts.netloc}", parts.path
        self._connection = http.client.HTTPConnection(parts.netloc)
        self.seconds: list[float] = []
        self.ask("state")

    def ask(self, path: str, body: Row | None = None) -> None:
        time.sleep(POLL)
        start = time.perf_counter()
        headers = {"Origin": self._origin, "Content-Type": "application/json"}
        method, content = ("GET", None) if body is None else ("POST", json.dumps(body))
        self._connection.request(method, self._path + path, content, headers)
        self.state: dict[str, Any] = json.loads(self._connection.getresponse().read())
        self.seconds.append(time.perf_counter() - start)
