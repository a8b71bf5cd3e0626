"""Invalid command lines end at once with one sentence, never with a traceback."""

import os
import shutil

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from s2gnn import Graph
from s2gnn.cli.commands import COMMANDS as ALL
from s2gnn.cli.commands import load
from s2gnn.graphs import save_graph

TABLE = "a,b,y\n" + "".join(f"{i * 0.37 % 1:.3f},{i * 0.61 % 1:.3f},{'u' if i % 2 else 'v'}\n" for i in range(12))
TOO_LARGE = "Invalid value for"  # as Typer says it, with the option and its range


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table, a graph, and what stands in the place of files."""
    path = tmp_path_factory.mktemp("hostile")
    (path / "t.csv").write_text(TABLE)
    save_graph(Graph.from_edge_list([(0, 1), (1, 2)]), path / "g.npz")
    save_graph(Graph.from_edge_list([(0, 1), (1, 2)], weights=[1e-310, 5e-324]), path / "denormal.npz")
    save_graph(Graph.from_edge_list([(0, 1), (1, 2)], weights=[1e200, 1e200]), path / "huge.npz")
    (path / "empty").mkdir()
    (path / "binary.csv").write_bytes(bytes(range(256)))
    for suffix in ("csv", "npz", "jsonl", "safetensors", "html", "db", "md"):
        os.mkfifo(path / f"pipe.{suffix}")
    os.mkfifo(path / "pipe")
    return path


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.delenv("RANK", raising=False)
    yield folder
    shutil.rmtree(folder / "out", ignore_errors=True)


FIT = "fit t.csv --label y --out out"
TRAIN = "train digits"
SEARCH = "study search --data digits --storage s.db"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (f"{FIT} --seed {2**32}", TOO_LARGE),
        (f"{FIT} --seed -1", TOO_LARGE),
        (f"{FIT} --seed 1e3", TOO_LARGE),
        (f"{FIT} --seed {'9' * 5000}", TOO_LARGE),
        (f"{FIT} --k {10**30}", TOO_LARGE),
        (f"{FIT} --folds {10**9}", TOO_LARGE),
        (f"{FIT} --device cuda:{10**30}", "which is no device"),
        ("fit pipe.csv --label y --out out", "pipe.csv is not a file"),
        ("fit pipe.npz --label y --out out", "pipe.npz is not a file"),
        ("fit binary.csv --label y --out out", "binary.csv is not a table"),
        (f"{FIT} --edges pipe.csv", "pipe.csv is not a file"),
        (f"{FIT} --edges pipe.npz", "it is not a plain file"),
        ("fit t.csv --label y --out pipe", "pipe is a file or a symlink"),
        ("predict empty t.csv", "empty"),
        ("predict pipe t.csv", "pipe"),
        ("report pipe", "pipe"),
        (f"label t.csv --label y --list {2**31}", TOO_LARGE),
        (f"label t.csv --label y --list 3 --seed {2**64}", TOO_LARGE),
        ("label pipe.csv --label y --list 3", "pipe.csv is not a file"),
        (f"{TRAIN} --seed {2**63}", TOO_LARGE),
        (f"{TRAIN} --wait {10**18}", TOO_LARGE),
        (f"{TRAIN} --batches-per-step {2**64}", TOO_LARGE),
        (f"{TRAIN} --epochs {2**31}", TOO_LARGE),
        (f"{TRAIN} --parts {10**8}", "but the graph of digits has 1797 nodes"),
        (f"{TRAIN} --set hidden_channels={10**24}", "hidden_channels is 1000000000000000000000000, but it must be at"),
        (f"{TRAIN} --set num_layers={10**29}", "num_layers is 100000000000000000000000000000, but it must be at most"),
        (f"{TRAIN} --set alpha={10**18}", "alpha is 1000000000000000000, but it must be at most 1000"),
        (f"{TRAIN} --set alpha={'9' * 5000}", "alpha is inf, but it must be an integer"),
        (f"{TRAIN} --set alpha=nan", "alpha is nan, but it must be an integer"),
        (f"{TRAIN} --set epsilon=-1", "epsilon is -1"),
        (f"{TRAIN} --set dropout={10**400}", "dropout is"),
        (f"{TRAIN} --set lr=inf", "lr is inf"),
        (f"{TRAIN} --set fusion={2**63}", "fusion is"),
        (f"{TRAIN} --checkpoint pipe.safetensors", "pipe.safetensors cannot be read: it is not a plain file"),
        ("graph build pipe.csv --out o.npz", "pipe.csv is not a file"),
        (f"graph build t.csv --label y --out o.npz --k {2**40}", TOO_LARGE),
        ("graph diffuse g.npz --out o.npz --teleport 1e-300", "teleport is 1e-300, but the smallest"),
        ("graph diffuse g.npz --out o.npz --teleport nan", "nan is not a finite number"),
        ("graph diffuse g.npz --out o.npz --teleport -inf", "-inf is not a finite number"),
        ("graph diffuse g.npz --out o.npz --tolerance nan", "nan is not a finite number"),
        (f"graph diffuse g.npz --out o.npz --top {2**31}", TOO_LARGE),
        ("graph diffuse pipe.npz --out o.npz", "it is not a plain file"),
        ("graph info pipe.npz", "it is not a plain file"),
        ("analyse spectrum denormal.npz", "the largest weight is 1e-310, whose powers exceed the range of float64"),
        ("analyse spectrum huge.npz", "the largest weight is 1e+200, whose powers exceed the range of float64"),
        ("analyse spectrum pipe.npz", "pipe.npz is neither a file nor a data set"),
        (f"analyse stability empty --seeds {10**9}", TOO_LARGE),
        (f"{SEARCH} --trials {10**12}", TOO_LARGE),
        (f"{SEARCH} --seeds {10**12}", TOO_LARGE),
        (f"{SEARCH} --seed {2**32}", TOO_LARGE),
        (f"{SEARCH} --jobs {10**6}", TOO_LARGE),
        (f"{SEARCH} --minutes nan", TOO_LARGE),
        ("study run table2-knn --minutes inf", "inf is not a finite number"),
        (f"study run table2-knn --seeds {10**9}", TOO_LARGE),
        (
            "study run --data digits --records pipe.jsonl --minutes 0",
            "pipe.jsonl cannot be read: it is not a plain file",
        ),
        ("study show pipe.jsonl", "pipe.jsonl has no records"),
        ("study document pipe.md", "pipe.md is not a file"),
        (f"bench cost --hidden {10**24}", TOO_LARGE),
        (f"bench cost --edges {10**30}", TOO_LARGE),
        (f"bench operator --widths {10**30}", "--widths has '1000000000000000000000000000000'"),
        ("bench operator --widths 0", "--widths is 0, but it must be an integer >= 1"),
        (f"bench memory --alpha {10**9}", TOO_LARGE),
        (f"demo --seeds {10**9}", TOO_LARGE),
    ],
)
def test_bad_input_is_a_sentence(s2gnn, here, line, sentence):
    code, _, err = s2gnn(*line.split())
    assert (code, "Traceback" in err) == (2, False), err
    assert sentence in " ".join(err.replace("│", " ").split())


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"RANK": "x"}, "RANK is 'x', but it must be an integer"),
        ({"RANK": "-1"}, "RANK is -1, WORLD_SIZE 2 and MASTER_PORT 29500, but ranks are 0 to WORLD_SIZE - 1"),
        ({"RANK": "99"}, "RANK is 99, WORLD_SIZE 2 and MASTER_PORT 29500, but ranks are 0 to WORLD_SIZE - 1"),
        ({"WORLD_SIZE": "9" * 40}, "WORLD_SIZE is '9999"),
        ({"MASTER_PORT": "http"}, "MASTER_PORT is 'http', but it must be an integer"),
        ({"MASTER_PORT": "65536"}, "ports below 65536"),
        ({"MASTER_PORT": "-5"}, "ports below 65536"),
    ],
)
def test_the_environment_of_a_launcher_is_checked(s2gnn, here, monkeypatch, variables, sentence):
    launched = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
    for name, value in {**launched, **variables}.items():
        monkeypatch.setenv(name, value)
    code, _, err = s2gnn("train", "digits", "--wait", "1")
    assert code == 2
    assert sentence in " ".join(err.split())


def test_millions_of_isolated_nodes_are_diffused_at_once(s2gnn, tmp_path):
    save_graph(Graph.from_edge_list([(0, 10**7 - 1)], n_nodes=10**7), tmp_path / "g.npz")
    code, out, _ = s2gnn("graph", "diffuse", tmp_path / "g.npz", "--out", tmp_path / "o.npz")
    assert code == 0
    assert "10,000,000" in out


NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, -1, 2**31, 2**32, 2**63, 2**64, 10**400]),
    st.floats(),
    st.text(max_size=5),
).map(str)
FILES = ["t.csv", "g.npz", "denormal.npz", "pipe.csv", "pipe.npz", "empty", "", "/", "y", "digits"]
NAMES = st.one_of(st.sampled_from(FILES), st.text())
# Every command, some with what they need, and what they refuse at last: none computes for long or uses the network.
COMMANDS = {
    "fit": "",
    "fit t.csv": "--label=absent --out=out",
    "predict": "",
    "predict empty t.csv": "",
    "report": "",
    "label --list=1": "",
    "label t.csv": "--label=absent --list=1",
    "train": "absent",
    "graph build": "",
    "graph build t.csv": "--label=absent --out=o.npz",
    "graph diffuse": "",
    "graph diffuse g.npz": "--out=t.csv/o.npz",
    "graph info": "",
    "data list": "",
    "data info": "",
    "data get": "absent",
    "study list": "",
    "study run": "absent",
    "study search": "--data=absent --storage=s.db",
    "study show": "",
    "study document": "",
    "study draw": "absent",
    "analyse spectrum": "",
    "analyse stability": "",
    "demo": "--out=t.csv/x.png",
    "bench cost": "",
}
TIMED = (
    "info",
    "graphs",
    "fit",
    "label",
    "operator",
    "epoch",
    "baselines",
    "layers",
    "memory",
    "gpu",
    "scale",
)  # of bench
COMMANDS |= {f"bench {name}": "too many arguments" for name in TIMED}


def options_of(line):
    """The options of a command that take a value."""
    name, *rest = line.split()
    found = load(name)
    found = getattr(found, "commands", {}).get(rest[0] if rest else "", found)
    return [each.opts[0] for each in found.params if each.opts[0].startswith("--") and not each.is_flag]


@st.composite
def command_lines(draw):
    line = draw(st.sampled_from(list(COMMANDS)))
    names = options_of(line)
    options = draw(st.dictionaries(st.sampled_from(names), NUMBERS | NAMES, max_size=4)) if names else {}
    given = [f"{name}={value}" for name, value in options.items()]
    return [*line.split(), *draw(st.lists(NAMES, max_size=2)), *given, *COMMANDS[line].split()]


def test_every_command_is_among_the_hostile_ones():
    commands = {name: getattr(load(name), "commands", None) or [""] for name in ALL}
    every = {f"{name} {inner}".strip() for name, subcommands in commands.items() for inner in subcommands}
    assert every == {line for line in every if any(f"{one} ".startswith(f"{line} ") for one in COMMANDS)}


@given(line=command_lines())
@example(line=["graph", "info", "\0"])
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_command_line_is_a_defect(s2gnn, here, line):
    """Exit code 70 stands for an unexpected error."""
    code, _, err = s2gnn(*line)
    assert code in (0, 1, 2), err
    assert "Traceback" not in err
