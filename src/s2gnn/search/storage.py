"""The database of a search, by Optuna: opened so that several processes can work on it at once."""

import random
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback
from sqlalchemy.exc import IntegrityError, OperationalError, SQLAlchemyError

from s2gnn.errors import InputError
from s2gnn.search.addresses import storage_address, without_password
from s2gnn.search.heartbeat import Heartbeat

# A configuration that kills its process, for instance by taking all memory, does so every time.
MAX_RETRIES = 3
_OPENING_ATTEMPTS = 8
_SQLITE_PATIENCE = 120  # seconds that a process waits for the others' transactions


def open_storage(storage: str | Path, heartbeat: Heartbeat) -> RDBStorage:
    """The storage at a file or an address; its tables are made if they are not there."""
    address = storage_address(storage)
    sqlite = address.startswith("sqlite")
    try:
        opened = _connected(address, heartbeat, {"connect_args": {"timeout": _SQLITE_PATIENCE}} if sqlite else {})
    except (SQLAlchemyError, ImportError, RuntimeError, ValueError) as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise InputError(
            f"the storage {without_password(str(storage))} cannot be opened ({without_password(reason)}): give a file "
            "such as search.db, or the address of a database such as postgresql://user@host/name whose driver is "
            "installed"
        ) from error
    if sqlite:
        _make_transactions_exclusive(opened.engine)
    return opened


def _connected(url: str, heartbeat: Heartbeat, engine: dict[str, Any]) -> RDBStorage:
    """The storage with its tables; processes that make them at the same time are in each other's way, and try again."""
    for attempt in range(_OPENING_ATTEMPTS):
        try:
            with without_warning("heartbeat_interval"):
                return RDBStorage(
                    url,
                    engine,
                    heartbeat_interval=heartbeat.interval,
                    grace_period=heartbeat.grace,
                    heartbeat_stale_trial_callback=retry_callback(),
                )
        except (OperationalError, IntegrityError) as error:
            if attempt == _OPENING_ATTEMPTS - 1 or "unable to open" in str(error):
                raise
            time.sleep(random.uniform(0.05, 0.2) * (attempt + 1))
    raise AssertionError("the last attempt returns or raises")


def _make_transactions_exclusive(engine: sqlalchemy.Engine) -> None:
    """Let a transaction begin with the write lock.

    Optuna reads a trial's state and then writes it, relying on row locks that SQLite does not have: two processes would
    claim the same trial.
    """

    def leave_begin_to_us(connection: Any, _: Any) -> None:
        connection.isolation_level = None

    def begin(connection: sqlalchemy.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    engine.dispose()
    sqlalchemy.event.listen(engine, "connect", leave_begin_to_us)
    sqlalchemy.event.listen(engine, "begin", begin)


def retry_callback() -> RetryHeartbeatStaleTrialCallback:
    """Puts a copy of a dead process's trial, with its scores, among those that wait."""
    with without_warning("RetryHeartbeatStaleTrialCallback"):
        return RetryHeartbeatStaleTrialCallback(max_retry=MAX_RETRIES, inherit_intermediate_values=True)


@contextmanager
def storage_errors() -> Iterator[None]:
    """Say in one sentence that the storage failed, as when its server is gone."""
    try:
        yield
    except StorageInternalError as error:
        reason = str(error.__cause__ or error).splitlines()[0]
        raise ConnectionError(f"the storage of the search failed ({reason}): start again when it answers") from error


@contextmanager
def without_warning(feature: str) -> Iterator[None]:
    """Leave out the warning that a feature of the pinned Optuna is experimental there."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", rf".*\b{feature}\b.* is (an )?experimental", ExperimentalWarning)
        yield
