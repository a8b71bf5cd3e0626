"""Where a result comes from: the versions and the commit that made it."""

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path


def commit() -> str | None:
    """The abbreviated commit of the checkout this package runs from, "+" if changed; `None` elsewhere."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--abbrev=10", "--dirty=+", "--exclude=*"],
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return described.stdout.strip()


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that numbers depend on."""
    packages = ("s2gnn", "torch", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
