"""The one place where a seed is set."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw torch's random numbers from `seed` inside the block; the caller's generator is left as it was."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
