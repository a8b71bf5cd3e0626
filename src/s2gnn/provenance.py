"""Provenance of results: commit, versions and processor."""

import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

# What a result depends on; records that grow while they are made, and pages, do not count as changes.
_CODE = ("src", "pyproject.toml", "constraints.txt", "CMakeLists.txt")


def commit() -> str | None:
    """Return the short commit of the checkout this package runs from, with "+" if code changed; `None` elsewhere."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None
    try:
        head = _git(root, "rev-parse", "--short=10", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", *_CODE)
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head}+" if changed else head


def _git(root: Path, *arguments: str) -> str:
    result = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return result.stdout.strip()


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that affect results."""
    packages = ("s2gnn", "torch", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def cpu() -> str:
    """Return the model of the processor, which timings depend on, such as "AMD EPYC (family 25, model 17)".

    Virtual machines may hide the name but not the numbers, which Windows has in the name.
    """
    if sys.platform == "darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or platform.machine()
    description = Path("/proc/cpuinfo")
    text = description.read_text(encoding="utf-8") if description.is_file() else ""
    first, *_ = text.split("\n\n")
    facts = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in first.splitlines())}
    name = facts.get("model name") or platform.processor() or platform.machine()
    labels = {"family": "cpu family", "model": "model", "implementer": "CPU implementer", "part": "CPU part"}
    numbers = [f"{label} {facts[fact]}" for label, fact in labels.items() if fact in facts]
    return f"{name} ({', '.join(numbers)})" if numbers else name


def origin(command: str) -> dict[str, Any]:
    """Return the command, commit and versions of a result, as the first fields of its JSON record."""
    return {"command": command, "commit": commit(), "versions": versions()}
