"""Lock an open file across processes, without a separate lock file."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from filelock import lock_descriptor, unlock_descriptor


@contextmanager
def locked(descriptor: int, *, shared: bool = False) -> Iterator[None]:
    """Wait for the lock and hold it inside the block; it is also released by a crash.

    Args:
        descriptor: of the open file.
        shared: allow other shared holders at the same time (not on Windows). A file opened for reading, also on NFS,
            can only be locked like this, which filelock does not offer.
    """
    if shared and sys.platform != "win32":
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_SH)
    else:
        lock_descriptor(descriptor)
    try:
        yield
    finally:
        unlock_descriptor(descriptor)
