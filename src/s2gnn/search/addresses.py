"""Where a search is stored, as an address of a database."""

import re
from pathlib import Path


def storage_address(storage: str | Path) -> str:
    """The address of a database as it is, that of SQLite for a file."""
    text = str(storage)
    return text if "://" in text else f"sqlite:///{text}"


def without_password(text: str) -> str:
    """`text` with stars in place of the password of an address in it, before its host or in its query."""
    before_host = re.sub(r"(://[^:@/\s]*:)[^@\s]*@", r"\1***@", text)
    return re.sub(r"([?&](?:password|passwd|pwd)=)[^&\s'\")]*", r"\1***", before_host)
