"""Worker processes that are protected from Ctrl-C while they start, and end with their parent."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, Literal

StartMethod = Literal["spawn", "forkserver"]


def start_process(target: Callable[..., None], *arguments: Any, method: StartMethod = "spawn") -> BaseProcess:
    """Start a process that calls `target(*arguments)` and that Ctrl-C does not reach.

    It is a new interpreter or, with the method "forkserver", the copy of one that has imported the
    modules given to `multiprocessing.set_forkserver_preload`.
    """
    context: Any = multiprocessing.get_context(method)
    process: BaseProcess = context.Process(target=target, args=arguments, daemon=True)
    # Starting the resource tracker, which the first child would need, unblocks the signal: it must be running before.
    if sys.platform != "win32":
        resource_tracker.ensure_running()
    with _interrupts_later():
        process.start()
    return process


def end_with_parent() -> None:
    """Make this process end as soon as its parent has ended; called in a started process."""
    if sys.platform == "win32":
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # there is no mask that could have been inherited
    threading.Thread(target=_wait_for_parents_end, daemon=True).start()


def how_it_ended(process: BaseProcess, advice: str = "lower jobs") -> str:
    """Return the reason why a process ended, as the end of a sentence, with advice if it ran out of memory."""
    process.join()
    code = process.exitcode or 0
    killer = signal.Signals(-code).name if code < 0 else None
    how = f"was killed by {killer}" if killer else f"ended with exit code {code}"
    hint = f", as the system does when memory runs out: {advice}" if killer == "SIGKILL" else ""
    return f"{how}{hint}"


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Defer Ctrl-C until the end of the block, and block it in processes started inside.

    The terminal sends Ctrl-C to all processes at once. A child inherits the blocked signal and leaves the matter to
    this process. Here the mask of one thread is not enough: another thread of the process would take the signal, and
    the interrupt be raised while a child is half started.
    """
    waiting: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, lambda number, _: waiting.append(number)) if main else None
    if sys.platform != "win32":
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if sys.platform != "win32":
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if main:
            signal.signal(signal.SIGINT, handler)
    if waiting:
        signal.raise_signal(waiting[0])


def _wait_for_parents_end() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
