import subprocess
import sys
import warnings

import pytest

import s2gnn as package
from s2gnn.cli import main
from s2gnn.cli.commands import COMMANDS, load
from s2gnn.errors import InputError

PRESENT = "import sys; from s2gnn.cli import main; sys.argv = ['s2gnn', {argument!r}]\ntry:\n    main()\n"
PRESENT += "finally:\n    print(sorted({{'torch', 'sklearn', 'scipy', 'matplotlib'}} & sys.modules.keys()))"


def run(code, **options):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, **options)


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(argument):
    result = run(PRESENT.format(argument=argument))
    assert result.returncode == 0
    assert result.stdout.endswith("[]\n"), result.stdout


def test_the_list_of_commands_says_what_the_commands_say(s2gnn):
    for name, text in COMMANDS.items():
        assert load(name).help.split("\n\n")[0] == text
        code, out, _ = s2gnn(name, "--help")
        assert (code, f"Usage: s2gnn {name}" in out, "completion" in out) == (0, True, False)


def test_the_public_names_are_imported_on_first_use():
    result = run("import sys, s2gnn; s2gnn.Graph; print('torch' in sys.modules, s2gnn.S2GNN.__name__, s2gnn.nn)")
    assert result.stdout.startswith("False S2GNN <module 's2gnn.nn'"), result.stderr
    assert set(package.__all__) <= set(dir(package))
    assert all(getattr(package, name).__name__ == name for name in package.__all__)
    with pytest.raises(AttributeError, match="module 's2gnn' has no attribute 'S3GNN'"):
        _ = package.S3GNN


def test_a_warning_is_one_line_and_comes_once(s2gnn, tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text("no record\n")
    before = warnings.showwarning
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        _, _, err = s2gnn("study", "run", "--data", "digits", "--records", path, "--minutes", 0)
    assert warnings.showwarning is before
    said = [line for line in err.splitlines() if "no record" in line]
    skipped = f"line 1 of {path} cannot be read as a record of this version: skipped, starting with b'no record'…"
    assert said == [f"warning: {skipped}"]
    assert "records.py" not in err


# An import of the command's modules, or of the commands themselves, takes as long as the user needs for Ctrl-C.
INTERRUPTED = """
import signal, sys
from s2gnn.cli import main

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
sys.argv = ["s2gnn", "study", "--help"]
main()
"""


@pytest.mark.parametrize("module", ["s2gnn.cli.commands", "typer", "torch", "sklearn"])
def test_ctrl_c_while_starting_is_one_line(module):
    result = run(INTERRUPTED.format(module=module))
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "s2gnn: interrupted\n")


def test_a_full_disk_behind_standard_output_is_one_sentence():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        result = subprocess.run([sys.executable, "-m", "s2gnn.cli", "--help"], stdout=full, stderr=subprocess.PIPE)
    assert result.returncode == 1
    assert result.stderr == b"s2gnn: [Errno 28] No space left on device\n"


def test_closed_standard_output_is_no_error():
    command = "import os, sys; sys.stdout.close(); sys.stdout = None; from s2gnn.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", command, "--version"], capture_output=True)
    assert (result.returncode, result.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (InputError("no such row"), 2, "s2gnn: no such row\n"),
        (OSError(28, "No space left on device"), 1, "s2gnn: [Errno 28] No space left on device\n"),
        (MemoryError(), 1, "s2gnn: not enough memory (an allocation failed): use less data or a smaller network\n"),
        (
            KeyError("x"),
            70,
            "s2gnn: this is a defect of s2gnn (KeyError: 'x'): please report it with the command and the traceback, "
            "which --debug prints\n",
        ),
    ],
)
def test_every_error_ends_with_one_sentence_and_its_traceback_on_demand(monkeypatch, capsys, error, code, sentence):
    def fail(arguments):
        assert arguments == ["fit", "t.csv"]
        raise error

    monkeypatch.setattr("s2gnn.cli.commands.command", fail)
    for options in ([], ["--debug"]):
        monkeypatch.setattr("sys.argv", ["s2gnn", "fit", *options, "t.csv"])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == code
        err = capsys.readouterr().err
        assert err.endswith(sentence)
        assert ("Traceback" in err) == bool(options)


@pytest.mark.parametrize(
    "command",
    [
        ("fit", "table.csv", "--label", "a", "--out", "model"),
        ("predict", "model", "table.csv"),
        ("label", "table.csv", "--label", "a"),
        ("train", "digits"),
        ("study", "run", "table2-knn"),
        ("bench", "operator"),
    ],
)
def test_a_device_that_is_not_there(s2gnn, command):
    code, _, err = s2gnn(*command, "--device", "cuda:99")
    assert code == 2
    assert " ".join(err.split()).startswith("s2gnn: device is 'cuda:99', which is not available here")
