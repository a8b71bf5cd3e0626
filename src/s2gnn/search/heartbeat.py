"""How the death of a process is noticed by the others that work on the same search."""

from dataclasses import dataclass

from s2gnn.nn.arguments import positive_integer


@dataclass(frozen=True)
class Heartbeat:
    """A sign of life in the storage.

    Attributes:
        interval: a process gives one every so many seconds.
        grace: without one for more than so many seconds a process counts as dead.
    """

    interval: int = 10
    grace: int = 60

    def __post_init__(self) -> None:
        positive_integer(self.interval, "interval")
        positive_integer(self.grace, "grace")
