"""The one place where files and folders are written: aside, next to their target, then renamed."""

import ctypes
import errno
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

_SUFFIX = ".tmp"


def write_atomically(path: str | Path, content: bytes) -> None:
    """Write `content` to `path` so that a reader sees the old file or the new one, never a part.

    Missing parent folders are created. When writing fails, as on a full disk, the `OSError` names `path`.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _aside(path, _new_file) as temporary:
        try:
            with temporary.open("wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(path)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def folder_aside(target: Path) -> Iterator[Path]:
    """Yield a new folder next to `target` for what will be moved there; it is removed at the end of the block.

    Folders left behind by killed processes are removed too.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with _aside(target, tempfile.mkdtemp) as temporary:
        yield temporary


def replace_folder(new: Path, target: Path) -> None:
    """Rename the folder `new` to `target`; a previous folder is then at `new`, or deleted.

    Where the system can swap two folders (Linux), `target` is complete at any moment; elsewhere it is missing between
    two renames. Of several processes that do this at once, the last one wins.
    """
    while True:
        try:
            if not target.exists():
                new.replace(target)
            elif not _swapped(new, target):
                _swap_in_steps(new, target)
            return
        except OSError as error:  # another process has just moved the old folder away, or put its own there
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST) or not new.exists():
                raise


def _swap_in_steps(new: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=new.parent) as aside:
        old = Path(aside) / "old"
        target.replace(old)
        try:
            new.replace(target)
        finally:
            if not target.exists():  # a failure, or Ctrl-C, between the two
                old.replace(target)


def _swapped(one: Path, other: Path) -> bool:
    """Swap two folders in one step; return false where that is not possible."""
    if sys.platform != "linux":
        return False
    current_folder, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "renameat2"):
        return False
    if library.renameat2(current_folder, os.fsencode(one), current_folder, os.fsencode(other), exchange) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL):
        return False
    raise OSError(code, os.strerror(code), str(other))


@contextmanager
def _aside(target: Path, make: Callable[..., str]) -> Iterator[Path]:
    """Yield a new path next to `target`, removed at the end; paths left by killed processes are removed first."""
    prefix = f".{target.name}."
    for found in list(target.parent.iterdir()):
        if re.fullmatch(rf"{re.escape(prefix)}[a-z0-9_]{{8}}{re.escape(_SUFFIX)}", found.name):
            with suppress(FileNotFoundError, PermissionError), _held(found, wait=False) as free:
                if free:
                    _remove(found)
    with ExitStack() as lock:
        temporary = None
        while temporary is None or not temporary.exists():  # another process took it for abandoned before it was locked
            temporary = Path(make(dir=target.parent, prefix=prefix, suffix=_SUFFIX))
            with suppress(FileNotFoundError):
                lock.enter_context(_held(temporary, wait=True))
        try:
            yield temporary
        finally:
            _remove(temporary)


@contextmanager
def _held(path: Path, *, wait: bool) -> Iterator[bool]:
    """Lock a file or folder inside the block, as long as its process lives; false if there is no lock.

    There is none if another process holds it and this one does not `wait`, on file systems without locks, and on
    Windows, where a file that is open cannot be renamed.
    """
    if sys.platform == "win32":
        yield False
        return
    import fcntl

    descriptor = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = True
        except OSError:
            held = False
        yield held
    finally:
        os.close(descriptor)


def _new_file(**named: object) -> str:
    handle, name = tempfile.mkstemp(**named)  # type: ignore[call-overload]
    os.close(handle)
    return str(name)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
