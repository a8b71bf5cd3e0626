"""Report the progress of running experiments on standard error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import TextColumn

from s2gnn.cli.output import counting_bar
from s2gnn.experiments.jobs import Progress
from s2gnn.progress import duration


@contextmanager
def reporting() -> Iterator[Callable[[str | Progress], None]]:
    """Yield a function that prints messages and a progress bar on standard error."""
    bar = counting_bar(TextColumn("{task.fields[left]}"))
    task = bar.add_task("", left="", visible=False)

    def report(event: str | Progress) -> None:
        if isinstance(event, str):
            if bar.live.is_started:
                bar.stop()  # or it would be drawn again below the sentence
            bar.console.print(event)
            return
        bar.start()
        left = f"about {duration(event.seconds_left)} left" if event.seconds_left else ""
        done, total = event.finished, event.total
        bar.update(task, description=event.description, completed=done, total=total, left=left, visible=True)

    try:
        yield report
    finally:
        bar.stop()
