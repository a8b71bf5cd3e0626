"""The commands; each module is imported only when its command is called, so that `s2gnn --help` is fast."""

import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import s2gnn
from s2gnn.cli import INTERRUPTED, ending_at_once

COMMANDS = {
    "demo": "Predict the cultivar of wines from ten labels per class; compare with seven methods of scikit-learn.",
    "fit": "Train a model on the labelled rows of a table and save it; it predicts the other rows and new ones.",
    "predict": "Predict the label of every row of a table.",
    "report": "Write an HTML report on a model: its data and graph, how accurate it is, and what to label next.",
    "label": "Label the rows of a table that help a model most, on a local page in the browser.",
    "train": "Train one network on a data set, full-batch or in mini-batches, in one or several processes (torchrun).",
    "data": "List, fetch and describe the named data sets.",
    "graph": "Build, diffuse and describe graphs.",
    "analyse": "Analyse the spectrum of a graph or the stability of a trained model.",
    "study": "Run the paper's experiments; every finished run is recorded.",
    "bench": "Measure time and memory on this machine.",
}


class _Interruptible(TyperGroup):
    """Prints one line on Ctrl-C, which Typer turns into an exit code without a message."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; the arguments of a `KeyboardInterrupt` state what was saved."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            print(": ".join(["s2gnn: interrupted", *map(str, error.args)]), file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from error


app = typer.Typer(
    cls=_Interruptible,
    help="Sparse Sobolev graph neural networks.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    add_completion=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(s2gnn.__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print the traceback of an error.")] = False,
) -> None:
    del version, debug  # `main` removes --debug from the arguments, wherever it is


class _Deferred(TyperCommand):
    """Holds the name and help of a command; loads the command itself when it is called."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        return load(str(self.name)).make_context(*arguments, **options)


def load(name: str) -> Any:
    """Return the command of a module: its group of sub-commands, or the command with its name."""
    with ending_at_once():
        module = import_module(f"s2gnn.cli.{name}")
    group = typer.main.get_group(module.app)
    for each in group.commands.values():  # let the terminal wrap the lines
        each.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in (each.help or "").split("\n\n"))
    return group.commands.get(name, group)


command = typer.main.get_group(app)
for _name, _help in COMMANDS.items():
    command.add_command(_Deferred(_name, help=_help))
