import pytest

from s2gnn import Graph, InputError
from s2gnn.graphs import save_graph
from s2gnn.tables import Table, read_edges
from s2gnn.tables.table import as_text

TABLE = Table("t.csv", {"id": as_text(["a", "b", " c", "d"]), "x": as_text(["1", "2", "3", "4"])})
PATH = Graph.from_edge_list([(0, 1), (1, 2)], weights=[1.0, 2.5], n_nodes=4)


@pytest.mark.parametrize(
    ("text", "identifier"),
    [
        ("from,to,weight\n1,2,1\n2,3,2.5\n", None),
        ("from,to,weight\n2,1,1\n1,2,1\n3,2,2.5\n4,4,1\n", None),
        ("from;to;weight\n1;2;1\n3;2;2,5\n", None),
        (",u,v,w\n0,a,b,1\n1,b,c,2.5\n", "id"),
    ],
)
def test_lists_of_edges(tmp_path, text, identifier):
    (tmp_path / "e.csv").write_text(text)
    assert read_edges(tmp_path / "e.csv", TABLE, identifier) == PATH


def test_edges_without_weights_have_weight_one(tmp_path):
    (tmp_path / "e.tsv").write_text("u\tv\n1\t4\n")
    assert read_edges(tmp_path / "e.tsv", TABLE) == Graph.from_edge_list([(0, 3)], n_nodes=4)


def test_a_graph_file(tmp_path):
    save_graph(PATH, tmp_path / "g.npz")
    assert read_edges(tmp_path / "g.npz", TABLE) == PATH
    with pytest.raises(InputError, match="g.npz has 4 nodes, but small.csv has 1 rows"):
        read_edges(tmp_path / "g.npz", Table("small.csv", {"x": as_text(["1"])}))


@pytest.mark.parametrize(
    ("text", "identifier", "message"),
    [
        ("u,v\n0,1\n", None, "column 'u' of .* is 0 in row 1, but the rows of t.csv are numbered from 1 to 4"),
        ("u,v\n1,2\n1,5\n", None, "column 'v' of .* is 5 in row 2, but the rows of t.csv are numbered from 1 to 4"),
        ("u,v\n1,1.5\n", None, "is 1.5 in row 1"),
        ("u,v\n1,\n", None, "is empty in row 1, but the rows of t.csv are numbered from 1 to"),
        ("u,v\na,b\n", None, "is 'a' in row 1, but the number of a row must be a number: give --id COLUMN"),
        ("u,v\na,e\n", "id", "column 'v' of .* is 'e' in row 1, which column 'id' of t.csv does not have"),
        ("u,v\na,b\n", "key", "t.csv has no column 'key'"),
        ("u,v,w\n1,2,0\n", None, "column 'w' of .* is 0 in row 1, but a weight is a positive number"),
        ("u,v,w\n1,2,\n", None, "is empty in row 1, but a weight is a positive number"),
        ("u,v,w\n1,2,1\n2,1,2\n", None, "gives the edge between rows 1 and 2 two different weights"),
        ("u,v\n1,1\n", None, "joins no two different rows"),
        ("u\n1\n", None, "has 1 columns, but a list of edges has two"),
        ("u,v,w,x\n1,2,3,4\n", None, "has 4 columns, but a list of edges has two"),
    ],
)
def test_unusable_edges(tmp_path, text, identifier, message):
    (tmp_path / "e.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_edges(tmp_path / "e.csv", TABLE, identifier)


def test_an_identifier_names_one_row(tmp_path):
    table = Table("t.csv", {"id": as_text(["a", "b", "a"])})
    (tmp_path / "e.csv").write_text("u,v\na,b\n")
    with pytest.raises(InputError, match="column 'id' of t.csv is 'a' in rows 1 and 3: an identifier names one row"):
        read_edges(tmp_path / "e.csv", table, "id")
