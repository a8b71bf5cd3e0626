import sys

import pytest

from s2gnn.cli import main


@pytest.fixture
def s2gnn(monkeypatch, capsys):
    """Run the command line in this process; gives exit code, standard output and standard error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["s2gnn", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as exit_info:
            main()
        output = capsys.readouterr()
        return exit_info.value.code or 0, output.out, output.err

    return run
