"""Programs that tests interrupt."""

import signal


def heed_interrupts() -> None:
    """Let a program that is about to start end on Ctrl-C, also where the tests themselves run in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
