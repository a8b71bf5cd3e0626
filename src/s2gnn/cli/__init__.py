"""The command line: `s2gnn COMMAND`."""

import sys
from typing import Annotated

import typer

import s2gnn
from s2gnn.cli import bench, data, demo, graph, study
from s2gnn.errors import InputError, SeedError

BAD_INPUT = 2
FAILED = 1

app = typer.Typer(
    help="Sparse Sobolev graph neural networks.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    add_completion=False,
)
app.command()(demo.demo)
app.add_typer(data.app, name="data")
app.add_typer(graph.app, name="graph")
app.add_typer(study.app, name="study")
app.add_typer(bench.app, name="bench")


def main() -> None:
    """Run the command line; bad input ends with one sentence and exit code 2, Ctrl-C with 130."""
    try:
        app()
    except InputError as error:
        print(f"s2gnn: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except (OSError, SeedError) as error:
        print(f"s2gnn: {error}", file=sys.stderr)
        sys.exit(FAILED)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(s2gnn.__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version
