import numpy as np

from s2gnn.data import read_table
from s2gnn.data.table_writing import table_text
from s2gnn.data.values import as_text


def test_what_is_written_is_read_again(tmp_path):
    columns = {
        "": as_text(["r1", "r2", "r3"]),
        "text": as_text(["a, b", 'say "x"', "two\nlines"]),
        "number": np.array([0.1, np.nan, 1e300]),
        "count": np.array([1, 2, 3]),
    }
    for name, delimiter in (("t.csv", ","), ("t.tsv", "\t")):
        (tmp_path / name).write_text(table_text(columns, delimiter), newline="")
        table = read_table(tmp_path / name)
        assert list(table.columns) == list(columns)
        assert table.column("text").tolist() == columns["text"].tolist()
        np.testing.assert_array_equal(table.numbers("number", "a number", ""), columns["number"])
        assert table.column("count").tolist() == ["1", "2", "3"]
