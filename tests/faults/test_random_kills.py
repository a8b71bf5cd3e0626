import os
import subprocess
import sys

import pytest

from tests.seed import SEED


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_killed_commands_end_with_the_result_of_undisturbed_ones():
    command = [sys.executable, "-m", "tests.faults.random_kills", "--kills", "3", "--only", "train,label"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.run([*command, "--seed", str(SEED)], capture_output=True, text=True, env=environment, timeout=400)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "SIG" in run.stdout
    assert "train" in run.stdout
