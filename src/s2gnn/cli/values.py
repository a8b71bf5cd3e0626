"""Hyperparameters as they are given on the command line."""

from s2gnn.errors import InputError
from s2gnn.learning.hyperparameters import Value


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
