"""Options shared by the commands of `s2gnn study`."""

from pathlib import Path
from typing import Annotated

import typer

from s2gnn.cli.options import integer, number
from s2gnn.links import DecoderName
from s2gnn.ranges import JOBS

Data = Annotated[str | None, typer.Option(help="Data sets, separated by commas.")]
Models = Annotated[str | None, typer.Option(help="Models, separated by commas.")]
Results = Annotated[Path, typer.Option(help="Folder of the records.")]
Jobs = Annotated[int, integer(JOBS, help="Number of processes.")]
Minutes = Annotated[float | None, number("Time limit in minutes; runs that would exceed it are not started.", min=0)]
Decoder = Annotated[DecoderName | None, typer.Option(help="Predict links with this decoder; default: predict labels.")]
