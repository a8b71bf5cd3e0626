import pytest

pytest.importorskip("triton")

from s2gnn.bench.compiled import TARGETS, compile_kernels
from s2gnn.bench.record import make_record
from s2gnn.bench.report import tables


@pytest.mark.parametrize("target", TARGETS)
def test_no_kernel_spills_registers(target):
    rows = list(compile_kernels([target], (1, 6)))
    assert {row["kernel"] for row in rows} == {
        "fan_out", "fan_in", "branchwise", "hadamard_gradient", "combine", "combine_backward",
    }  # fmt: skip
    for row in rows:
        assert 0 < row["registers"] <= 128
        assert row["spilled"] == 0, row
    (table,) = tables(make_record("s2gnn bench gpu", None, kernels=rows))
    assert table.header == ("kernel", "α = 1", "α = 6")
    first = next(row for row in rows if row["kernel"] == "fan_out" and row["alpha"] == 6)
    assert table.blocks[0].rows[0][2].text == str(first["registers"])
