"""Deprecated module names: documented names can still be imported, with a warning."""

import sys
import warnings
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any

_MOVED = MappingProxyType(
    {
        "s2gnn.studies": "s2gnn.experiments",
        "s2gnn.search": "s2gnn.experiments.search",
        "s2gnn.learning.protocol": "s2gnn.experiments.protocols",
        "s2gnn.learning.hyperparameters": "s2gnn.experiments.hyperparameters",
        "s2gnn.learning.records": "s2gnn.experiments.records",
        "s2gnn.learning.yardsticks": "s2gnn.learning.classical",
    }
)
_RENAMED = MappingProxyType(
    {
        "Cell": "Experiment",
        "make_cell": "make_experiment",
        "YARDSTICKS": "CLASSICAL",
        "make_yardstick": "make_classical",
    }
)


class _MovedModule(ModuleType):
    """A module under its deprecated name."""

    def __getattr__(self, name: str) -> Any:
        new = _MOVED[self.__name__]
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(import_module(new), _RENAMED.get(name, name))
        text = f"{self.__name__}.{name} is deprecated: use {new}.{_RENAMED.get(name, name)}"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return found


def register_moved_modules() -> None:
    """Make modules importable under their deprecated names."""
    for name in _MOVED:
        sys.modules.setdefault(name, _MovedModule(name, f"Deprecated alias of `{_MOVED[name]}`."))
