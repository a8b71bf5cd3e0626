"""Kill running commands at random moments, restart them, and compare what they write with an undisturbed run.

Usage: python -m tests.faults.random_kills [--kills 100] [--seed 0] [--only fit,train,...]

SIGKILL and SIGTERM hit one random process of the command, SIGSTOP and SIGCONT all of them. Afterwards the same command
must give the same records, weights, predictions and labels, bit by bit, and leave the same files.
"""

import argparse
import functools
import hashlib
import http.client
import json
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import optuna
import pandas as pd
from safetensors.numpy import load_file
from sklearn.datasets import load_iris

from s2gnn import provenance
from s2gnn.cli import commands, main
from s2gnn.experiments import search

assert commands  # imported here once, and not in every process that is started
OF_TIME = ("seconds", "finished", "commit", "peak_bytes", "new_epochs")
OUTPUT = "output"
PATIENCE = 300  # seconds for anything that must end


@dataclass
class Command:
    """A command, and what happens while it runs.

    Attributes:
        name: to choose it.
        arguments: of `s2gnn`.
        accompany: called while the command runs, with its folder and process.
        code: with which an undisturbed run ends.
    """

    name: str
    arguments: str
    accompany: Callable[[Path, int], None] = field(default=lambda folder, process: None)
    code: int = 0


def answer_all(folder: Path, process: int) -> None:
    """Label every row that the page shows until none is left; every answer that was acknowledged must be on disk."""
    address = None
    while address is None:
        if has_ended(process):
            return
        time.sleep(0.02)
        text = (folder / OUTPUT).read_text()
        address = next(map(urlsplit, re.findall(r"http://\S+/(?=\s)", text)), None)
    species = flowers()["species"]
    labels = folder / "flowers.labelled.csv"
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=PATIENCE)
    try:
        state = ask(connection, address.path, "state")
        while state["row"] is not None:
            row = state["row"]["number"]
            state = ask(connection, address.path, "answer", {"row": row, "class": species[row]})
            assert pd.read_csv(labels, keep_default_na=False)["species"][row] == species[row], "an answer was lost"
    except (ConnectionError, http.client.HTTPException):
        return
    finally:
        connection.close()
    os.kill(process, signal.SIGINT)


def ask(connection: http.client.HTTPConnection, path: str, name: str, given: object = None) -> dict:
    headers = {"Content-Type": "application/json", "Origin": f"http://127.0.0.1:{connection.port}"}
    connection.request("GET" if given is None else "POST", path + name, given and json.dumps(given), headers)
    return json.load(connection.getresponse())


COMMANDS = [
    Command("study", "study run table2-knn --data cancer-b --models mlp,gcn,s2gnn --budget smoke --results results"),
    Command("jobs", "study run --data digits --model gcn --protocol fair --seeds 4 --jobs 2 --records digits.jsonl"),
    Command("search", "study search --data digits --model mlp --sampler random --trials 4 --seeds 1 --storage s.db"),
    Command("train", "train digits --epochs 40 --every 3 --checkpoint run.safetensors --out net --json"),
    Command("fit", "fit flowers.csv --label species --out model --predictions p.csv --json"),
    Command("label", "label flowers.csv --label species --batch 1000 --no-browser", answer_all, code=130),
]


def flowers() -> pd.DataFrame:
    frame = load_iris(as_frame=True).frame.iloc[::5].reset_index(drop=True)
    frame["species"] = np.array(["setosa", "versicolor", "virginica"])[frame.pop("target")]
    return frame


def prepare(folder: Path) -> None:
    folder.mkdir()
    table = flowers()
    table.loc[1::2, "species"] = ""
    table.to_csv(folder / "flowers.csv", index=False)


def start(command: Command, folder: Path) -> int:
    """Start a command in a process that leads its own group."""
    process = os.fork()
    if process:
        return process
    code = 70
    try:
        os.setsid()
        os.chdir(folder)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in what it starts with &
        output = os.open(OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(os.open("errors", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        # A trial counts as abandoned after two seconds without a sign of life, not after a minute.
        search.SearchConfig = functools.partial(search.SearchConfig, heartbeat=1, grace=2)
        provenance.commit = lambda: "none"  # the checkout may change meanwhile
        sys.argv = ["s2gnn", *command.arguments.split()]
        main()
        code = 0
    except SystemExit as error:
        code = int(error.code or 0)
    finally:
        sys.stdout.flush()
        os._exit(code)


def group_of(process: int) -> list[int]:
    """The processes in the group of a command that still run."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group = status.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(group) == process and state != "Z":
            found.append(int(status.parent.name))
    return found


def has_ended(process: int) -> bool:
    """Whether it has, or is a zombie."""
    return process not in group_of(process)


class Killer(threading.Thread):
    """Sends a random signal after a random time."""

    def __init__(self, process: int, chance: random.Random, within: float) -> None:
        super().__init__()
        self.process, self.chance, self.after = process, chance, chance.uniform(0, within)
        self.kind = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP])
        self.done = ""
        self.start()

    def run(self) -> None:
        time.sleep(self.after)
        group = group_of(self.process)
        if self.process not in group:
            return
        if self.kind is signal.SIGSTOP:
            os.killpg(self.process, signal.SIGSTOP)
            time.sleep(self.chance.uniform(0.1, 1))
            os.killpg(self.process, signal.SIGCONT)
        else:
            os.kill(self.chance.choice(group), self.kind)
        self.done = f"{self.kind.name} after {self.after:.1f} s"


def run(command: Command, folder: Path, chance: random.Random | None = None, within: float = 0.0) -> tuple[int, str]:
    """Run a command to its end, whichever it is: its exit code, and what was done to it."""
    before = {path: path.read_bytes() for path in folder.rglob("*.jsonl")}
    process = start(command, folder)
    killer = None if chance is None else Killer(process, chance, within)
    command.accompany(folder, process)
    _, status = os.waitpid(process, 0)
    if killer is not None:
        killer.join()
    deadline = time.monotonic() + PATIENCE
    while group_of(process):
        assert time.monotonic() < deadline, f"{command.name} left processes behind: {group_of(process)}"
        time.sleep(0.05)
    for path, content in before.items():
        complete = content[: content.rfind(b"\n") + 1]
        assert path.read_bytes().startswith(complete), f"{path} lost records"
    return os.waitstatus_to_exitcode(status), "" if killer is None else killer.done


def run_to_the_end(command: Command, folder: Path) -> None:
    code, _ = run(command, folder)
    errors = (folder / "errors").read_text()
    assert code == command.code, f"{command.name} ended with {code}: {errors}"


def written(folder: Path) -> dict[str, object]:
    """What the files of a folder hold, without times."""
    return {str(path.relative_to(folder)): content_of(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def content_of(path: Path) -> object:
    if path.name in ("errors", "README.md") or path.suffix == ".lock":
        return None
    if path.suffix == ".jsonl":
        return sorted(json.dumps(without_times(json.loads(line)), sort_keys=True) for line in path.open())
    if path.suffix == ".json" or path.name == OUTPUT:
        text = path.read_text()
        if path.name.endswith(".session.json"):  # the order of the rows depends on when models are ready
            return sorted(json.loads(text)["answers"])
        return without_times(json.loads(text)) if text.startswith("{") else None
    if path.suffix == ".safetensors":
        return {name: hashlib.sha256(array.tobytes()).hexdigest() for name, array in load_file(path).items()}
    if path.suffix == ".db":
        storage = f"sqlite:///{path}"
        name = optuna.get_all_study_names(storage)[0]
        trials = optuna.load_study(study_name=name, storage=storage).trials
        return [(trial.state.name, trial.params, trial.value, trial.intermediate_values) for trial in trials]
    return path.read_bytes()


def without_times(value: object) -> object:
    if isinstance(value, dict):
        return {name: without_times(one) for name, one in value.items() if name not in OF_TIME}
    return value


def rounds(chosen: list[Command], kills: int, chance: random.Random, scratch: Path) -> Iterator[str]:
    """Disturb the commands in turn until the given number of signals was sent; one line for each round."""
    expected, seconds = {}, {}
    for command in chosen:
        folder = scratch / command.name
        prepare(folder)
        begin = time.monotonic()
        run_to_the_end(command, folder)
        seconds[command.name], expected[command.name] = time.monotonic() - begin, written(folder)
    number = 0
    while kills > 0:
        command = chosen[number % len(chosen)]
        number += 1
        folder = scratch / f"{command.name}-{number}"
        prepare(folder)
        done = []
        for _ in range(min(kills, chance.randint(1, 3))):
            code, what = run(command, folder, chance, seconds[command.name])
            assert code in (command.code, 1, -signal.SIGKILL, -signal.SIGTERM), f"{command.name}: exit code {code}"
            done += [what] if what else []
        run_to_the_end(command, folder)
        kills -= len(done)
        found = written(folder)
        want = expected[command.name]
        different = {one for one in {*found, *want} if one not in found or one not in want or found[one] != want[one]}
        if different:
            raise AssertionError(f"{command.name} after {done}: {sorted(different)} differ, see {folder}")
        yield f"{command.name}: {', '.join(done) or 'ended before'}: same result"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="number of signals")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="names of commands, separated by commas; default: all whose data is at hand")
    given = parser.parse_args()
    with_data = "S2GNN_DATA" in os.environ
    names = given.only.split(",") if given.only else [one.name for one in COMMANDS if with_data or one.name != "study"]
    scratch = Path(tempfile.mkdtemp(prefix="s2gnn-faults-"))
    os.environ |= {"S2GNN_CACHE": str(scratch / "cache"), "TZ": "UTC"}
    chance = random.Random(given.seed)
    for line in rounds([one for one in COMMANDS if one.name in names], given.kills, chance, scratch):
        print(line, flush=True)
