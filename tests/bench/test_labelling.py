from s2gnn.bench import labelling
from s2gnn.bench.record import make_record
from s2gnn.bench.report import tables


def test_a_round_and_its_requests_are_timed(monkeypatch):
    monkeypatch.setattr(labelling, "SIZES", ((100, 4, 20), (10**6, 20, 100)))
    rows = list(labelling.time_rounds(1_000))
    assert [row["rows"] for row in rows] == [100]
    assert 0 < rows[0]["seconds"] < 300
    assert 0 < rows[0]["median_request_seconds"] <= rows[0]["slowest_request_seconds"]
    (table,) = tables(make_record("s2gnn bench label", None, timings=rows))
    assert [cell.text for cell in table.blocks[0].rows[0][:2]] == ["100 × 4", "20"]
