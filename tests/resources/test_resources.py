import multiprocessing
import os
import signal
import subprocess
import sys
import time
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.resources import (
    DeadProcessError,
    LimitError,
    Limits,
    available_bytes,
    forget_peak,
    in_own_process,
    least_seconds,
    peak_bytes,
    resident_bytes,
    settled_bytes,
)

MIB = 2**20
WAYS = [pytest.param((), id="new interpreter"), pytest.param(("numpy",), id="copy of one")]


def process_and_imports() -> tuple[int, bool]:
    return os.getpid(), "numpy" in sys.modules


def refuse(value: int) -> None:
    raise InputError(f"the value is {value}")


def sleep() -> None:
    time.sleep(60)


def hold(size: int) -> None:
    held = np.ones(size, dtype=np.uint8)
    time.sleep(60 * held[0])


def be_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("preloaded", WAYS)
def test_a_separate_process_returns_results_and_errors(preloaded):
    first, imported = in_own_process(process_and_imports, preloaded=preloaded)
    second, _ = in_own_process(process_and_imports, preloaded=preloaded)
    assert len({os.getpid(), first, second}) == 3
    assert imported
    with pytest.raises(InputError, match="the value is 3"):
        in_own_process(refuse, 3, preloaded=preloaded)
    assert not multiprocessing.active_children()


def test_limits_of_time_and_memory():
    start = time.monotonic()
    with pytest.raises(LimitError, match=r"more than 0.5 s"):
        in_own_process(sleep, limits=Limits(seconds=0.5), preloaded=("numpy",))
    with pytest.raises(LimitError, match=r"more than 0.5 GiB"):
        in_own_process(hold, 800 * MIB, limits=Limits(resident=512 * MIB), preloaded=("numpy",))
    assert time.monotonic() - start < 50
    assert not multiprocessing.active_children()


def test_a_killed_process_is_an_error_that_says_so():
    with pytest.raises(DeadProcessError, match="the process of the measurement was killed by SIGKILL, as the system"):
        in_own_process(be_killed, preloaded=("numpy",))


INTERRUPTED = """
import signal, sys
sys.path.insert(0, {folder!r})
from s2gnn.resources import in_own_process
from waiting import say_and_wait

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background are started without
    in_own_process(say_and_wait, preloaded={preloaded})
"""
WAITING = """
import os, time

def say_and_wait():
    print(os.getpid(), os.getppid(), flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("preloaded", WAYS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_the_one_that_started_it(tmp_path, preloaded, number):
    (tmp_path / "waiting.py").write_text(WAITING)
    (tmp_path / "main.py").write_text(INTERRUPTED.format(folder=str(tmp_path), preloaded=preloaded))
    parent = subprocess.Popen(
        [sys.executable, tmp_path / "main.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    with parent:
        started = {int(word) for word in parent.stdout.readline().split()} - {parent.pid}
        if number == signal.SIGINT:
            os.killpg(parent.pid, number)  # as a terminal does
        else:
            parent.kill()
        parent.wait(timeout=20)
        deadline = time.monotonic() + 20
        while any(is_running(pid) for pid in started) and time.monotonic() < deadline:
            time.sleep(0.05)
    assert len(started) == 1 + len(preloaded)  # the copy has another parent
    assert not any(is_running(pid) for pid in started)


def is_running(pid: int) -> bool:
    """Whether a process is there and not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_memory_is_counted_in_bytes():
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert total / 1000 < available_bytes() < total
    before = settled_bytes()  # so that the array cannot lie in what was freed before
    held = np.ones(2**23)
    assert resident_bytes() - before > 0.9 * held.nbytes
    assert peak_bytes() >= before + 0.9 * held.nbytes


def test_the_peak_of_a_process_is_its_own():
    held = np.ones(2**26)  # half a GiB that the child does not have
    child = in_own_process(peak_bytes)
    assert held[0] == 1
    assert child < peak_bytes() - held.nbytes / 2


def peak_of_temporaries(first: int, second: int) -> tuple[int, int]:
    """The peak, above what is held before, of arrays of `first` and then of `second` bytes that are freed at once."""
    before = settled_bytes()
    peaks = []
    for size in (first, second):
        settled_bytes()
        forget_peak()
        np.ones(size, dtype=np.uint8)
        peaks.append(peak_bytes() - before)
    return peaks[0], peaks[1]


@pytest.mark.parametrize("preloaded", [(), ("numpy",)])
def test_a_forgotten_peak_leaves_that_of_a_known_allocation(preloaded):
    large, small = in_own_process(peak_of_temporaries, 200 * MIB, 50 * MIB, preloaded=preloaded)
    assert large == pytest.approx(200 * MIB, abs=2 * MIB)
    assert small == pytest.approx(50 * MIB, abs=2 * MIB)


def test_a_system_without_these_files_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("s2gnn.resources._OWN", tmp_path / "status")
    with pytest.raises(InputError, match="memory is measured with .*status, which .* does not have: use Linux"):
        resident_bytes()


def test_the_minimum_time_of_several_runs(monkeypatch):
    def least(taken, most, patience):
        """The least of runs that take what `taken` says, and how many there were."""
        ticks = iter(accumulate(value for seconds in taken for value in (0.0, seconds)))
        monkeypatch.setattr("s2gnn.resources.time.perf_counter", lambda: next(ticks))
        runs = []
        return least_seconds(lambda: runs.append(1), most, patience), len(runs)

    assert least([3.0, 1.0, 2.0, 0.5], most=3, patience=100) == (1.0, 3)
    assert least([3.0, 1.0, 2.0, 0.5], most=10, patience=5.5) == (1.0, 3)
    assert least([3.0, 1.0], most=10, patience=2) == (3.0, 1)
