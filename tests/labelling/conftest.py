"""A small table to label, and a server on it."""

import threading
from contextlib import ExitStack

import numpy as np
import pytest

from s2gnn.labelling.labels import LabelledCopy
from s2gnn.labelling.server import LabellingServer
from s2gnn.labelling.session import Session
from s2gnn.labelling.settings import Settings

QUICK = (("network", "s2gnn"), ("n_networks", 1), ("max_epochs", 5), ("hidden_channels", 4))


def write_blobs(path, *, n=40, labelled=(), header="x,y,kind"):
    """Rows of two far clusters, of the classes a and b; the first half is a."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, 2)) + np.where(np.arange(n) < n // 2, -4, 4)[:, None]
    kinds = ["a" if row < n // 2 else "b" for row in range(n)]
    lines = [f"{x:.4f},{y:.4f},{kinds[row] if row in labelled else ''}" for row, (x, y) in enumerate(points)]
    path.write_text("\n".join([header, *lines]) + "\n")
    return kinds


@pytest.fixture
def serve(tmp_path):
    """A function that opens a session on a table and serves it until the test ends."""
    with ExitStack() as stack:

        def start(path, label="kind", **settings):
            copy = LabelledCopy.open(path, label, new_column="classes" in settings)
            copy.create()
            session = Session(copy, Settings(parameters=QUICK, **settings))
            server = stack.enter_context(LabellingServer(session))
            thread = threading.Thread(target=server.serve_forever, args=(0.02,))
            stack.enter_context(session.training.in_background())
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
            return server

        yield start
