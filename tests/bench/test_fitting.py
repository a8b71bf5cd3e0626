from s2gnn.bench import fitting
from s2gnn.bench.record import make_record
from s2gnn.bench.report import tables


def test_a_fit_is_measured_next_to_what_is_expected(monkeypatch):
    monkeypatch.setattr(fitting, "SIZES", ((200, 6, 60), (10**6, 20, 100)))
    rows = list(fitting.time_fits(1_000))
    assert [row["rows"] for row in rows] == [200]
    assert 0 < rows[0]["processor_seconds"] < 600
    assert rows[0]["accuracy"] > 0.6
    (table,) = tables(make_record("s2gnn bench fit", None, timings=rows))
    assert [cell.text for cell in table.blocks[0].rows[0][:2]] == ["200 × 6", "60"]
