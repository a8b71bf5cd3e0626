"""A lock on an open file that processes wait for, on POSIX and on Windows; it needs no file of its own."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

if sys.platform == "win32":
    import msvcrt

    # Windows keeps others from reading what is locked, so the lock is on one byte that no file of ours reaches.
    _LOCKED_BYTE = 2**31 - 2

    @contextmanager
    def locked(descriptor: int, *, shared: bool = False) -> Iterator[None]:
        """Wait for the file and hold it inside the block; a crash releases it too.

        Args:
            descriptor: of the open file.
            shared: whether other shared holders may be inside at the same time; on Windows they never are.
        """
        del shared
        while not _try(descriptor, msvcrt.LK_LOCK):
            pass
        try:
            yield
        finally:
            _try(descriptor, msvcrt.LK_UNLCK)

    def _try(descriptor: int, mode: int) -> bool:
        """Lock or unlock, leaving the position of the file; false if ten attempts, a second apart, were in vain."""
        position = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, mode, 1)
        except OSError as error:
            if error.errno != errno.EDEADLOCK:
                raise
            return False
        finally:
            os.lseek(descriptor, position, os.SEEK_SET)
        return True

else:
    import fcntl

    @contextmanager
    def locked(descriptor: int, *, shared: bool = False) -> Iterator[None]:
        """Wait for the file and hold it inside the block; a crash releases it too.

        Args:
            descriptor: of the open file.
            shared: whether other shared holders may be inside at the same time.
        """
        fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
