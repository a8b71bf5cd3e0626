"""The database of a search, by Optuna: opened so that several processes can work on it at once."""

import random
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
import sqlalchemy
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from s2gnn.errors import InputError
from s2gnn.search.addresses import storage_address, without_password
from s2gnn.search.heartbeat import Heartbeat

# A configuration that kills its process, for instance by taking all memory, does so every time.
MAX_RETRIES = 3
_OPENING_ATTEMPTS = 8
_SQLITE_PATIENCE = 120  # seconds that a process waits for the others' transactions
# What a database says when another process makes the same table or row at the same time.
_IN_EACH_OTHERS_WAY = ("already exists", "duplicate", "unique constraint", "locked", "deadlock")


def open_storage(storage: str | Path, heartbeat: Heartbeat) -> RDBStorage:
    """The storage at a file or an address; its tables are made if they are not there."""
    address = storage_address(storage)
    sqlite = address.startswith("sqlite")
    # A server may have been started again since, or a firewall have cut what was idle: a connection is tried first.
    engine = {"connect_args": {"timeout": _SQLITE_PATIENCE}} if sqlite else {"pool_pre_ping": True}
    try:
        opened = _connected(address, heartbeat, engine)
    except ImportError as error:
        postgresql = address.startswith("postgresql")
        advice = "pip install 's2gnn[postgresql]'" if postgresql else "install the driver that the address names"
        raise InputError(
            f"the storage {without_password(str(storage))} needs a driver that is not installed "
            f"({error.__cause__ or error}): {advice}"
        ) from error
    except (SQLAlchemyError, RuntimeError, ValueError) as error:
        raise InputError(
            f"the storage {without_password(str(storage))} cannot be opened ({_reason(error)}): give a file such as "
            "search.db, or the address of a database that is there, such as postgresql://user@host/name"
        ) from error
    if sqlite:
        _make_transactions_exclusive(opened.engine)
    if opened.engine.name == "postgresql":
        _use_universal_time(opened.engine)
    return opened


def _connected(url: str, heartbeat: Heartbeat, engine: dict[str, Any]) -> RDBStorage:
    """The storage with its tables; processes that make them at the same time are in each other's way, and try again."""
    for attempt in range(_OPENING_ATTEMPTS):
        try:
            with without_warning("heartbeat_interval"):
                return RDBStorage(
                    url.replace("{", "{{").replace("}", "}}"),  # Optuna takes it for a format
                    engine,
                    heartbeat_interval=heartbeat.interval,
                    grace_period=heartbeat.grace,
                    heartbeat_stale_trial_callback=retry_callback(),
                )
        except DBAPIError as error:
            passing = any(words in str(error.orig).lower() for words in _IN_EACH_OTHERS_WAY)
            if attempt == _OPENING_ATTEMPTS - 1 or not passing:
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


def _use_universal_time(engine: sqlalchemy.Engine) -> None:
    """Let signs of life be written in a time without summer time, the same for every process.

    Optuna subtracts them without their time zone: where that of a session were another, or the clock is set, workers
    that live would count as dead.
    """

    def set_time_zone(connection: Any, _: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET TIME ZONE 'UTC'")
        connection.commit()

    engine.dispose()
    sqlalchemy.event.listen(engine, "connect", set_time_zone)


def retry_callback() -> RetryHeartbeatStaleTrialCallback:
    """Puts a copy of a dead process's trial, with its scores, among those that wait."""
    with without_warning("RetryHeartbeatStaleTrialCallback"):
        return RetryHeartbeatStaleTrialCallback(max_retry=MAX_RETRIES, inherit_intermediate_values=True)


@contextmanager
def storage_errors() -> Iterator[None]:
    """Say in one sentence that the storage failed, as when its server is gone, and nothing of what Optuna logs."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    except StorageInternalError as error:
        raise ConnectionError(
            f"the storage of the search failed ({_reason(error.__cause__ or error)}): start again when it answers, "
            "what is stored is not lost"
        ) from error
    finally:
        optuna.logging.set_verbosity(before)


def _reason(error: BaseException) -> str:
    """The first line of what the database said, without a password."""
    return without_password(str(getattr(error, "orig", None) or error).splitlines()[0])


@contextmanager
def without_warning(feature: str) -> Iterator[None]:
    """Leave out the warning that a feature of the pinned Optuna is experimental there."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", rf".*\b{feature}\b.* is (an )?experimental", ExperimentalWarning)
        yield
