"""Where a search is stored, as an address of a database."""

import re
from importlib.util import find_spec
from pathlib import Path

# The drivers of PostgreSQL that an address without one may mean, the one that is tested first.
_DRIVERS = ("psycopg", "psycopg2")


def storage_address(storage: str | Path) -> str:
    """The address of a database, that of SQLite for a file; PostgreSQL's gets the driver that is installed."""
    text = str(storage)
    kind, separator, place = text.partition("://")
    if not separator:
        return f"sqlite:///{text}"
    if kind in ("postgresql", "postgres"):
        kind = f"postgresql+{next(filter(find_spec, _DRIVERS), _DRIVERS[0])}"
    return f"{kind}://{place}"


def without_password(text: str) -> str:
    """`text` with stars in place of the password of an address in it, before its host or in its query."""
    before_host = re.sub(r"(://[^:@/\s]*:)\S*@", r"\1***@", text)
    return re.sub(r"([?&](?:password|passwd|pwd)=)[^&\s'\")]*", r"\1***", before_host)
