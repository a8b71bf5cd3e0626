"""The progress bar of long computations, on standard error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


@contextmanager
def progress_bar(description: str, *, shown: bool) -> Iterator[Callable[[float], None]]:
    """Yield a function to be called with the share of finished work, in [0, 1]; the bar is hidden unless `shown`."""
    if not shown:
        yield lambda _: None
        return
    columns = (
        TextColumn("{task.description:32s}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(description, total=1.0)
        yield lambda share: bar.update(task, completed=share)
        bar.update(task, completed=1.0)


def duration(seconds: float) -> str:
    """Format a duration, e.g. "1 min 40 s"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
