import pytest

from s2gnn.bench.gpu_model import ALPHA, DEVICES, WIDTH, calculated_rows
from s2gnn.bench.record import make_record
from s2gnn.bench.report import tables
from s2gnn.bench.tasks import TASKS


def test_seconds_are_bytes_by_bandwidth():
    rows = {(row["device"], row["graph"]): row["seconds"] for row in calculated_rows()}
    for name, device in DEVICES.items():
        task = TASKS["random-132000"]
        signal, entries = 4 * WIDTH * task.nodes, task.nonzeros
        pattern = 8 * entries + 4 * task.nodes
        rows_of_edges = signal if signal <= device.cache else 4 * WIDTH * entries
        assert rows[name, "random-132000"]["csr"] * device.bandwidth == pytest.approx(
            ALPHA * (pattern + rows_of_edges + signal)
        )
        ours = pattern + 4 * ALPHA * task.nodes + rows_of_edges + (ALPHA + 1) * signal
        assert rows[name, "random-132000"]["ours"] * device.bandwidth == pytest.approx(ours)
    assert 4 * WIDTH * TASKS["cancer-b"].nodes < 40 * 2**20 < 4 * WIDTH * TASKS["random-132000"].nodes * 2


def test_the_tables_are_labelled_as_a_calculation():
    found = tables(make_record("s2gnn bench gpu", None, calculated=calculated_rows()))
    assert [table.title.endswith("calculated, not measured") for table in found] == [True] * len(DEVICES)
