"""A throw-away PostgreSQL server on this machine, reached as by others: over TCP, with a password."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")
PASSWORD = "do-not-print"


def find_programs():
    """The folder of the newest server's programs, or `None`."""
    found = [Path(path).resolve().parent for path in [shutil.which("initdb")] if path is not None]
    for place in PLACES:
        found += Path("/").glob(place.removeprefix("/"))
    found = [folder for folder in found if all((folder / name).is_file() for name in ("initdb", "postgres", "psql"))]
    return max(found, key=lambda folder: [int(part) for part in folder.parts if part.isdecimal()], default=None)


def find_user():
    """Whom the server runs as, since it refuses to as root: this user, that of Debian's package, or `None`."""
    import pwd  # not there on Windows, where the tests that need no server can run

    if os.getuid() != 0:
        return pwd.getpwuid(os.getuid())
    known = {user.pw_name: user for user in pwd.getpwall()}
    return known.get("postgres") or known.get("nobody")


class PostgresServer:
    """A separate server with no database but `postgres`; its files are deleted with it.

    Its time zone has summer time and is not that of the clients, as a server's may be.
    """

    def __init__(self, programs, user):
        self._programs, self._user = programs, user
        self._folder = Path(tempfile.mkdtemp(prefix="s2gnn-postgresql-"))
        self._process = None
        secret = self._folder / "password"
        secret.write_text(PASSWORD)
        for path in (self._folder, secret):
            os.chown(path, user.pw_uid, user.pw_gid)
        self._run(
            "initdb", "--pgdata", self._folder / "data", "--username", "me", "--pwfile", secret, "--no-sync",
            "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C",
        )  # fmt: skip
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.start()

    def start(self):
        """Start, for the first time or again, and wait until it answers."""
        settings = {
            "port": self._port, "listen_addresses": "127.0.0.1", "unix_socket_directories": self._folder,
            "fsync": "off", "timezone": "America/New_York",
        }  # fmt: skip
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [self._programs / "postgres", "-D", self._folder / "data", *options]
        with (self._folder / "log").open("a") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, **self._identity())
        give_up = time.monotonic() + 30
        while self._try("psql", "--command", "SELECT 1", self.address("postgres")).returncode != 0:
            said = (self._folder / "log").read_text()
            assert self._process.poll() is None, said
            assert time.monotonic() < give_up, said
            time.sleep(0.1)

    def stop(self):
        """Stop at once, as a machine does that loses power: open connections are cut."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()

    def address(self, database, password=PASSWORD):
        """The address of a database."""
        return f"postgresql://me:{password}@127.0.0.1:{self._port}/{database}"

    def make_database(self, name):
        """The address of a new database called `name`."""
        self.ask("postgres", f'CREATE DATABASE "{name}"')
        return self.address(name)

    def ask(self, database, query):
        """The rows of an answer, each a list of texts."""
        answer = self._run("psql", "--no-align", "--tuples-only", "--command", query, self.address(database))
        return [line.split("|") for line in answer.splitlines()]

    def remove(self):
        """Stop for good, and delete the files."""
        if self._process is not None and self._process.poll() is None:
            self.stop()
        shutil.rmtree(self._folder)

    def _run(self, program, *arguments):
        run = self._try(program, *arguments)
        assert run.returncode == 0, run.stderr
        return run.stdout

    def _try(self, program, *arguments):
        command = [self._programs / program, *arguments]
        return subprocess.run(command, capture_output=True, text=True, **self._identity())

    def _identity(self):
        # Another user may not be in the folder that the tests are run in.
        settings = {"cwd": self._folder, "env": {"PATH": os.defpath, "LC_ALL": "C"}}
        if os.getuid() == 0:
            settings |= {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        return settings
