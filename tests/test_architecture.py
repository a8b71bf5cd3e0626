"""The folder tree tells the story of the data: a package imports only from those before it."""

import ast
from pathlib import Path

import s2gnn

ORDER = [
    "errors", "ranges", "devices", "threads", "file_lock", "files", "pictures", "provenance",
    "progress", "webpage", "render", "processes", "resources", "reading", "graphs", "operators", "nn", "pyg",
    "tables", "data", "learning", "links", "analysis", "estimator", "labelling", "report", "experiments", "demo",
    "bench", "cli",
]  # fmt: skip
SOURCE = Path(s2gnn.__file__).parent


def imported_parts(path: Path) -> set[str]:
    """The parts of s2gnn that a module imports."""
    parts = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "s2gnn":
            names = [f"s2gnn.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        parts |= {name.split(".")[1] for name in names if name.startswith("s2gnn.")}
    return parts


def test_every_package_imports_only_from_those_before_it():
    modules = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"]
    assert len(modules) > 15
    for path in modules:
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        allowed = set(ORDER[: ORDER.index(part) + 1])
        assert imported_parts(path) <= allowed, path


def test_a_package_does_not_import_its_subpackages():
    """They build on it; only the names that a package exports, and lists of its contents, go the other way."""
    subpackages = {path.parent for path in SOURCE.glob("*/*/*.py")}
    assert {path.name for path in subpackages} >= {"baselines", "figures"}
    for folder in subpackages:
        name = ".".join(("s2gnn", *folder.relative_to(SOURCE).parts))
        for path in folder.parent.glob("*.py"):
            assert path.name in ("__init__.py", "registry.py") or name not in path.read_text(), path


POSIX_ONLY = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}


def test_no_module_needs_posix_to_be_imported():
    """An import at the top of a module runs on Windows too; one below `if sys.platform` or in a function need not."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert not POSIX_ONLY & set(names), path
