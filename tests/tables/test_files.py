import gzip
import re
import tracemalloc

import numpy as np
import pytest

from s2gnn import InputError, data
from s2gnn.tables import Table, read_table, table_text
from s2gnn.tables.files import LARGE_FILE, ROWS_AT_ONCE
from s2gnn.tables.table import as_text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "a,b,kind\n1,2.5,x\n-3,4e2,\n"),
        ("t.csv", "\ufeffa;b;kind\r\n1;2.5;x\r\n-3;4e2;\r\n"),
        ("t.tsv", "a\tb\tkind\n1\t2.5\tx\n-3\t4e2\t\n\n"),
        ("t.txt", "a\tb\tkind\n1\t2.5\tx\n-3\t4e2\t\n"),
    ],
)
def test_delimiters_headers_and_empty_lines(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    table = read_table(tmp_path / name)
    assert list(table.columns) == ["a", "b", "kind"]
    assert table.n_rows == 2
    assert table.column("kind").tolist() == ["x", ""]
    assert table.features(without=["kind"]).tolist() == [[1.0, 2.5], [-3.0, 400.0]]
    assert table.features(["b"]).tolist() == [[2.5], [400.0]]


def test_gzipped_tables(tmp_path):
    for name, text in [("t.csv.gz", "a;b\n1,5;x\n2;\n"), ("t.tsv.gz", "a\tb\n1.5\tx\n2\t\n")]:
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
        table = read_table(tmp_path / name)
        assert table.features(["a"]).tolist() == [[1.5], [2.0]]
        assert table.column("b").tolist() == ["x", ""]
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n1,caf\xe9\n"))
    with pytest.raises(InputError, match="line 2 has the byte 0xe9"):
        read_table(tmp_path / "t.csv.gz")


@pytest.mark.parametrize(
    "content", [b"a,b\n1,2\n", gzip.compress(b"a,b\n1,2\n")[:-9], b""], ids=["plain", "cut", "empty"]
)
def test_damaged_gzipped_tables(tmp_path, content):
    (tmp_path / "t.csv.gz").write_bytes(content)
    with pytest.raises(InputError, match=r"not a gzipped table, or it is damaged|needs a header line"):
        read_table(tmp_path / "t.csv.gz")


def test_a_small_gzipped_file_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("s2gnn.tables.files.LONGEST_LINE", 1_000)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n1," + b"2" * 100_000 + b"\n"))
    with pytest.raises(InputError, match="it has a line of 1,000 characters or more"):
        read_table(tmp_path / "t.csv.gz")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 100_000))
    monkeypatch.setattr("s2gnn.reading.SMALL_TEXT", 100_000)
    monkeypatch.setattr("s2gnn.tables.files._columns", None)  # nothing is parsed
    with pytest.raises(InputError, match=r"t.csv.gz unpacks to more than 1\d\d,\d\d\d bytes, the limit for its size"):
        read_table(tmp_path / "t.csv.gz")


def test_only_blank_lines_are_skipped(tmp_path):
    (tmp_path / "t.csv").write_text('\na,b\n1,2\n\n  \n,\n" ",\n3,4\n')
    assert read_table(tmp_path / "t.csv").column("a").tolist() == ["1", "", " ", "3"]
    (tmp_path / "t.csv").write_text('a\n1\n""\n\n2\n')
    assert read_table(tmp_path / "t.csv").column("a").tolist() == ["1", "", "2"]


def test_quoted_values_and_row_names_of_data_frames(tmp_path):
    (tmp_path / "t.csv").write_text('"","name","a"\n"1","x, y",2.5\n"2","z",3\n')
    table = read_table(tmp_path / "t.csv")
    assert list(table.columns) == ["", "name", "a"]
    assert table.column("name").tolist() == ["x, y", "z"]
    assert table.features(without=["name"]).tolist() == [[2.5], [3.0]]


def test_fractions_with_a_comma_between_semicolons(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1,5;2\n-0,25;3\n")
    assert read_table(tmp_path / "t.csv").features().tolist() == [[1.5, 2.0], [-0.25, 3.0]]
    (tmp_path / "t.csv").write_text('a,b\n"1,5",2\n')
    with pytest.raises(InputError, match="column 'a' of .* is '1,5' in row 1"):
        read_table(tmp_path / "t.csv").features()


def test_tables_longer_than_one_batch(tmp_path):
    n = 2 * ROWS_AT_ONCE + 3
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i},text {i}\n" for i in range(n)))
    table = read_table(tmp_path / "t.csv")
    assert table.features(["a"])[:, 0].tolist() == list(range(n))
    assert table.column("b").tolist() == [f"text {i}" for i in range(n)]
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * (n - 1) + "3\n")
    with pytest.raises(InputError, match=f"row {n} has 1 values, the header 2"):
        read_table(tmp_path / "t.csv")


def test_a_bar_for_large_files_only(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 10_000)
    read_table(tmp_path / "t.csv", progress=True)
    assert capsys.readouterr().err == ""
    (tmp_path / "t.csv").write_text("a,b\n" + f"1,{'x' * 1000}\n" * (LARGE_FILE // 1000))
    read_table(tmp_path / "t.csv")
    assert capsys.readouterr().err == ""
    read_table(tmp_path / "t.csv", progress=True)
    assert re.match(r"reading the table .* 100% ", capsys.readouterr().err)


def test_one_long_text_does_not_pad_the_others(tmp_path):
    (tmp_path / "t.csv").write_text("note\n" + "x" * 100_000 + "\n" + "short\n" * 10_000)
    tracemalloc.start()
    column = read_table(tmp_path / "t.csv").column("note")
    assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    tracemalloc.stop()
    assert len(column[0]) == 100_000


def test_npz(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.arange(6).reshape(3, 2), y=np.array([0, 1, 1]))
    table = read_table(tmp_path / "t.npz")
    assert list(table.columns) == ["x0", "x1", "y"]
    assert table.features(without=["y"]).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert table.column("y").tolist() == ["0", "1", "1"]
    np.savez(tmp_path / "t.npz", X=np.arange(6).reshape(3, 2), y=np.array([-1, 1, 0]))
    assert read_table(tmp_path / "t.npz").missing("y").tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "needs a header line and at least one row"),
        (b"a,b\n", "needs a header line and at least one row"),
        (b"a,b\n\n  \n", "needs a header line and at least one row"),
        (b'a,b\n"' + b"x" * 200_000 + b'",1\n', r"line 2 cannot be read \(field larger than field limit .* left open"),
        (b"1.5,2\n3,4\n", "has numbers in its first line, which must name the columns"),
        (b"a,a\n1,2\n", "names a column twice or not at all"),
        (b"a,\n1,2\n", "names a column twice or not at all"),
        (b"a,b\n1,2\n3\n", "row 2 has 1 values, the header 2"),
        (b"\0\0\0,\0\n\0,\0\n", "is a binary file"),
        (b"a,b\n1,2\n3,\0\n", "is a binary file"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "t.csv is not a table in UTF-8: line 1 has the byte 0x89: save it as UTF-8"),
        (b"a,b\n" + 9_000 * b"1,2\n" + b"3,caf\xe9\n4,\xff\n", "line 9,002 has the byte 0xe9: save it as UTF-8"),
        (b"PK\x03\x04\x14\0", "t.csv is an Excel workbook or a ZIP archive, not a table: save it as CSV in UTF-8"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "t.csv is an Excel workbook, not a table: save it as CSV in UTF-8"),
        (b"%PDF-1.7\n%\xe2\xe3", "t.csv is a PDF document, not a table: copy its table into a spreadsheet"),
    ],
)
def test_files_that_are_no_tables(tmp_path, content, message):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "t.csv")


def test_unusable_columns(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,cat\n2,\n")
    table = read_table(tmp_path / "t.csv")
    with pytest.raises(InputError, match="has no column 'c': its columns are a, b"):
        table.column("c")
    with pytest.raises(InputError, match=r"has no column 'B': did you mean 'b'\? Its columns are a, b"):
        table.column("B")
    with pytest.raises(InputError, match=r"column 'b' of .* is 'cat' in row 1, but a feature must be a number"):
        table.features()
    with pytest.raises(InputError, match="no column left"):
        table.features(without=["a", "b"])
    (tmp_path / "t.csv").write_text("a,b\n1,1e400\n")
    with pytest.raises(InputError, match=r"column 'b' of .* is inf in row 1, not a finite number"):
        read_table(tmp_path / "t.csv").features()
    (tmp_path / "t.csv").write_text("a,b\n1,2\n ,3\n")
    with pytest.raises(InputError, match=r"is empty in row 2"):
        read_table(tmp_path / "t.csv").features()


def test_unusable_npz(tmp_path):
    path = tmp_path / "t.npz"
    for arrays, message in [
        ({"Z": np.ones(3)}, "no table of numbers called X"),
        ({"X": np.ones(3)}, "no table of numbers called X"),
        ({"X": np.ones((3, 2)), "y": np.ones(2)}, r"3 rows in X, but y has shape \(2,\)"),
        ({"X": np.ones((1, 2)), "y": np.array([b"\xff"])}, "is not a table: the text in y cannot be decoded"),
        ({"X": np.ones((1, 2)), "y": np.zeros(1, "V8")}, "is not a table: y.npy is not a complete array of numbers"),
        ({"X": np.ones((1, 2)), "y": np.zeros(1, "f8,i4")}, "is not a table: y.npy is not a complete array"),
        ({"X": np.array([[object()]])}, "is not a table: X.npy is not a complete array of numbers or text"),
    ]:
        np.savez(path, **arrays)
        with pytest.raises(InputError, match=message):
            read_table(path)
    path.write_bytes(b"nonsense")
    with pytest.raises(InputError, match="not a ZIP archive"):
        read_table(path)
    with pytest.raises(InputError, match="missing.csv does not exist: give a .csv, .tsv or .npz table"):
        read_table(tmp_path / "missing.csv")
    with pytest.raises(InputError, match="is a folder: give a .csv, .tsv or .npz table"):
        read_table(tmp_path)


def test_what_is_written_is_read_again(tmp_path):
    columns = {
        "": as_text(["r1", "r2", "r3"]),
        "text": as_text(["a, b", 'say "x"', "two\nlines"]),
        "number": np.array([0.1, np.nan, 1e300]),
        "count": as_text(["1", "2,5", "007"]),
    }
    for suffix in (".csv", ".tsv"):
        path = tmp_path / f"t{suffix}"
        path.write_text(table_text(Table("t", columns).to_frame(), suffix), newline="")
        table = read_table(path)
        assert list(table.columns) == list(columns)
        for name in ("text", "count"):
            assert table.column(name).tolist() == columns[name].tolist()
        np.testing.assert_array_equal(table.numbers("number", "a number", ""), columns["number"])


def test_the_old_place_of_tables_is_deprecated():
    with pytest.warns(DeprecationWarning, match="s2gnn.data.read_table moved to s2gnn.tables"):
        assert data.read_table is read_table
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = data.nothing
