"""Tests of bfloat16 products on every machine: where the CPU cannot compute them, in a child process that can.

Some virtual machines advertise AMX without permitting it. There, every bfloat16 matrix product of torch raises an error
or kills the process, unless oneDNN is limited to older instructions before torch is imported.
"""

import os
import subprocess
import sys
from functools import cache

LIMIT = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}
_PRODUCT = "import torch; x = torch.ones(64, 64, dtype=torch.bfloat16); assert (x @ x)[0, 0] == 64"


@cache
def products_work() -> bool:
    """Whether torch computes bfloat16 products here, found out in a child process because a failure may be a crash."""
    return subprocess.run([sys.executable, "-c", _PRODUCT], capture_output=True, check=False).returncode == 0


def needs_child() -> bool:
    """Whether a test of bfloat16 products must run in a child process; one that has the limit runs them itself."""
    return not LIMIT.items() <= os.environ.items() and not products_work()


def run_in_child(nodeid: str, folder: str) -> None:
    """Run one test in a child process with the limit, and fail with its output where it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | LIMIT
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", nodeid]
    child = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stdout + child.stderr
