"""Hyperparameters as they are given on the command line, and options that have no meaning there."""

from collections.abc import Mapping

from s2gnn.errors import InputError
from s2gnn.experiments.hyperparameters import Value


def assignment(text: str) -> tuple[str, Value]:
    """NAME=VALUE as a name and an integer, a number or a string."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise InputError(f"--set {text} is not of the form NAME=VALUE, such as epsilon=1.5")
    for convert in (int, float):
        try:
            return name, convert(value)
        except ValueError:
            continue
    return name, value


def refuse(options: Mapping[str, object], why: str) -> None:
    """Raise for the first option that was given, with the reason `why`."""
    for option, value in options.items():
        if value is not None:
            raise InputError(f"{option} {why}")
