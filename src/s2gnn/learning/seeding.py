"""Seeding of torch's random numbers."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's random numbers inside the block, and restore the global state afterwards."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
