"""The seed of all random tests: S2GNN_TEST_SEED, 0 by default. With another one every test still has to pass."""

import os

SEED = int(os.environ.get("S2GNN_TEST_SEED", "0"))


def seeded(number: int) -> int:
    """A seed that belongs to `number` within this run of the tests; `number` itself by default."""
    return 100_003 * SEED + number
