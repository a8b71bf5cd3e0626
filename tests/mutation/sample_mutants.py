"""Change the code of `graphs` and `operators` in small random ways, and count how many changes the tests notice.

Usage: python tests/mutation/sample_mutants.py [--sample 300] [--seed 0] [--folder build/mutation] [MUTANT ...]

mutmut makes the changes ("mutants") in a copy of the project and runs the tests that call the changed function; its
configuration is in setup.cfg. Mutants that no test notices are printed as diffs.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter
from pathlib import Path

from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.mutation.file_mutation import mutate_file_contents
from mutmut.stats import SourceFileMutationData, status_by_exit_code
from mutmut.utils.file_utils import walk_mutatable_files
from mutmut.utils.format_utils import get_mutant_name

from s2gnn.operators import _native

ROOT = Path(__file__).parents[2]
NOTICED = ("killed", "timeout", "segfault")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=300, help="number of random mutants")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutation", help="of the copy; replaced")
    parser.add_argument("mutants", nargs="*", help="test these instead of a sample")
    given = parser.parse_args()
    copy_project(given.folder)
    os.chdir(given.folder)
    everything = all_mutants()
    sample = given.mutants or random.Random(given.seed).sample(everything, min(given.sample, len(everything)))
    run_mutmut(sample)
    outcomes = {name: outcome for name, outcome in read_outcomes().items() if name in sample}
    for name, outcome in sorted(outcomes.items()):
        if outcome not in NOTICED:
            print(f"\n{name}: {outcome}\n{get_diff_for_mutant(name)}")
    noticed = sum(outcome in NOTICED for outcome in outcomes.values())
    print(f"\n{dict(Counter(outcomes.values()))}: the tests notice {noticed} of {len(sample)} mutants", end="")
    print(f" ({noticed / len(sample):.0%}); there are {len(everything)}")


def copy_project(folder: Path) -> None:
    """Copy sources, tests and the compiled module, so that nothing changes here."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copy(Path(__file__).parent / "setup.cfg", folder)
    assert _native.__file__ is not None
    shutil.copy(_native.__file__, folder / "src" / "s2gnn" / "operators")


def all_mutants() -> list[str]:
    """The names of all mutants of the configured files."""
    return [
        get_mutant_name(path, name)
        for path in sorted(walk_mutatable_files())
        for name in mutate_file_contents(str(path), path.read_text()).mutant_names
    ]


def run_mutmut(names: list[str]) -> None:
    """Test mutants one after the other, without the import hook of an editable installation."""
    packages = [sysconfig.get_path("purelib"), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(packages), "OMP_NUM_THREADS": "1"}
    command = [sys._base_executable, "-m", "mutmut", "run", "--max-children", "1", *names]  # type: ignore[attr-defined]
    subprocess.run(command, env=environment, check=True)


def read_outcomes() -> dict[str, str]:
    """What became of each mutant: "killed", "survived", "no tests" or the like."""
    outcomes = {}
    for path in walk_mutatable_files():
        data = SourceFileMutationData(path=path)
        data.load()
        outcomes |= {name: status_by_exit_code[code] for name, code in data.exit_code_by_key.items()}
    return outcomes


if __name__ == "__main__":
    main()
