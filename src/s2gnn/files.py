"""The one place where a file is written: to a temporary file next to the target, then renamed."""

import os
import tempfile
from pathlib import Path


def write_atomically(path: str | Path, content: bytes) -> None:
    """Write `content` to `path` so that a reader sees the old file or the new one, never a part.

    Missing parent folders are created. When writing fails, as on a full disk, the `OSError` names `path`.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
