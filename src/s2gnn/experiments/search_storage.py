"""Open the database of a search so that several processes and machines can share it."""

import os
import platform
import random
import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import optuna
import sqlalchemy
from optuna.exceptions import ExperimentalWarning, StorageInternalError, UpdateFinishedTrialError
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from s2gnn.errors import InputError

_OPENING_ATTEMPTS = 8
_SQLITE_TIMEOUT = 120  # seconds to wait for the transactions of other processes
# What a database reports when another process creates the same table or row at the same time.
_CONFLICTS = ("already exists", "duplicate", "unique constraint", "locked", "deadlock")
# The drivers of PostgreSQL that an address without one may mean, in order of preference.
_DRIVERS = ("psycopg", "psycopg2")


def storage_address(storage: str | Path) -> str:
    """Return the address of a database: SQLite for a file; PostgreSQL gets the driver that is installed."""
    text = str(storage)
    kind, separator, place = text.partition("://")
    if not separator:
        return f"sqlite:///{text}"
    if kind in ("postgresql", "postgres"):
        kind = f"postgresql+{next(filter(find_spec, _DRIVERS), _DRIVERS[0])}"
    return f"{kind}://{place}"


def without_password(text: str) -> str:
    """Return `text` with asterisks instead of the password of an address in it, before its host or in its query."""
    before_host = re.sub(r"(://[^:@/\s]*:)\S*@", r"\1***@", text)
    return re.sub(r"([?&](?:password|passwd|pwd)=)[^&\s'\")]*", r"\1***", before_host)


def open_storage(storage: str | Path, heartbeat: int, grace: int) -> "SearchStorage":
    """Return the storage at a file or an address; its tables are created if needed.

    Args:
        storage: a file, or an address with "://".
        heartbeat: seconds between two heartbeats of a running trial.
        grace: seconds without one after which a trial counts as dead and is retried.
    """
    address = storage_address(storage)
    sqlite = address.startswith("sqlite")
    # A server may have been restarted, or a firewall have cut an idle connection: test it before use.
    engine = {"connect_args": {"timeout": _SQLITE_TIMEOUT}} if sqlite else {"pool_pre_ping": True}
    try:
        opened = _connected(address, heartbeat, grace, engine)
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
            "search.db, or the address of an existing database such as postgresql://user@host/name"
        ) from error
    if sqlite:
        _make_transactions_exclusive(opened.engine)
    if opened.engine.name == "postgresql":
        _use_universal_time(opened.engine)
    return opened


def _connected(url: str, heartbeat: int, grace: int, engine: dict[str, Any]) -> "SearchStorage":
    """Return the storage with its tables; processes that create them at the same time conflict, and try again."""
    for attempt in range(_OPENING_ATTEMPTS):
        try:
            with without_warning("heartbeat_interval"):
                address = url.replace("{", "{{").replace("}", "}}")  # Optuna takes it for a format
                return SearchStorage(address, engine, heartbeat_interval=heartbeat, grace_period=grace)
        except DBAPIError as error:
            passing = any(words in str(error.orig).lower() for words in _CONFLICTS)
            if attempt == _OPENING_ATTEMPTS - 1 or not passing:
                raise
            time.sleep(random.uniform(0.05, 0.2) * (attempt + 1))
    raise AssertionError("the last attempt returns or raises")


class SearchStorage(RDBStorage):
    """A database whose trials name their process, and can be put back, with the scores they have, for another one."""

    def _create_new_trial(self, study_id: int, template_trial: FrozenTrial | None = None) -> FrozenTrial:
        """Create a trial that names its process from the start."""
        own = optuna.create_trial(state=TrialState.RUNNING, user_attrs={"worker": worker_name(os.getpid())})
        return super()._create_new_trial(study_id, template_trial or own)

    def record_heartbeat(self, trial_id: int) -> None:
        """Write a heartbeat; the grace period covers those that fail."""
        with suppress(StorageInternalError):
            super().record_heartbeat(trial_id)

    def put_back(self, trial_id: int) -> None:
        """Let a trial in progress wait again; nothing happens if it has ended."""
        with suppress(UpdateFinishedTrialError):
            self.set_trial_state_values(trial_id, TrialState.WAITING)

    def put_back_stale(self, study: str, max_deaths: int) -> None:
        """Let the trials of dead processes wait again; one that killed `max_deaths` of them fails."""
        for trial_id in self._get_stale_trial_ids(self.get_study_id_from_name(study)):
            deaths = self.get_trial(trial_id).user_attrs.get("deaths", 0) + 1
            with suppress(UpdateFinishedTrialError):
                if deaths >= max_deaths:
                    self.set_trial_user_attr(trial_id, "deaths", deaths)
                    self.set_trial_state_values(trial_id, TrialState.FAIL)
                elif self._waits_again(trial_id):
                    self.record_heartbeat(trial_id)  # the next process to take it has the grace period to write one
                    self.set_trial_user_attr(trial_id, "deaths", deaths)

    def _waits_again(self, trial_id: int) -> bool:
        """Put a running trial back, in one step; false if another process was faster."""
        change = "UPDATE trials SET state = 'WAITING' WHERE trial_id = :trial AND state = 'RUNNING'"
        with self.engine.begin() as connection:
            return connection.execute(sqlalchemy.text(change), {"trial": trial_id}).rowcount == 1


def worker_name(process: int | None) -> str:
    """Return a process among those of all machines."""
    return f"{platform.node()}, process {process}"


def _make_transactions_exclusive(engine: sqlalchemy.Engine) -> None:
    """Begin every transaction with the write lock.

    Optuna reads a trial's state and then writes it, relying on row locks that SQLite does not have: two processes would
    claim the same trial.
    """

    def disable_implicit_begin(connection: Any, _: Any) -> None:
        connection.isolation_level = None

    def begin(connection: sqlalchemy.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    engine.dispose()
    sqlalchemy.event.listen(engine, "connect", disable_implicit_begin)
    sqlalchemy.event.listen(engine, "begin", begin)


def _use_universal_time(engine: sqlalchemy.Engine) -> None:
    """Write heartbeats in UTC.

    Optuna subtracts them without their time zone: with another zone in another session, or at the end of summer time,
    live workers would count as dead.
    """

    def set_time_zone(connection: Any, _: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET TIME ZONE 'UTC'")
        connection.commit()

    engine.dispose()
    sqlalchemy.event.listen(engine, "connect", set_time_zone)


@contextmanager
def storage_errors() -> Iterator[None]:
    """Report a failed storage, for instance of a server that is gone, in one sentence, without Optuna's log."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    except StorageInternalError as error:
        raise ConnectionError(
            f"the storage of the search failed ({_reason(error.__cause__ or error)}): rerun the command when it "
            "answers; what is stored is not lost"
        ) from error
    finally:
        optuna.logging.set_verbosity(before)


def _reason(error: BaseException) -> str:
    """Return the first line of the database's message, without a password."""
    return without_password(str(getattr(error, "orig", None) or error).splitlines()[0])


@contextmanager
def without_warning(feature: str) -> Iterator[None]:
    """Suppress Optuna's warning that a feature is experimental."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", rf".*\b{feature}\b.* is (an )?experimental", ExperimentalWarning)
        yield
