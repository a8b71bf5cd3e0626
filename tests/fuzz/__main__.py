"""Coverage-guided fuzzing of the readers with atheris.

`python -m tests.fuzz --minutes 1` fuzzes each reader for a minute, `python -m tests.fuzz csv --minutes 60` one of them.
`python -m tests.fuzz csv FILE` reads one file, such as the one that a failure is saved to.
"""

import argparse
import gc
import random
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from types import FunctionType

WORK = Path("build/fuzz")  # inputs that reached new code, and failures
GUIDED = ("s2gnn", "zipfile", "gzip", "numpy.lib._format_impl")  # modules whose branches guide the search
MEMORY, SECONDS = 3_000, 20  # MiB of the process, about 600 of which are PyTorch; for one input


def main() -> None:
    """Fuzz all readers one after the other; the exit code is 1 if any failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("reader", nargs="?", help="one reader instead of all")
    parser.add_argument("file", nargs="?", type=Path, help="read this file only")
    parser.add_argument("--minutes", type=float, default=1.0, help="for each reader")
    options = parser.parse_args()
    if options.file is not None:
        from tests.fuzz.readers import reader

        with tempfile.TemporaryDirectory() as folder:
            reader(options.reader, Path(folder))(options.file.read_bytes())
    elif options.reader is not None:
        fuzz(options.reader, options.minutes)
    else:
        names = sorted(path.name for path in (Path(__file__).parent / "corpus").iterdir())
        command = [sys.executable, "-m", "tests.fuzz", "--minutes", str(options.minutes)]
        failed = [name for name in names if subprocess.run([*command, name], check=False).returncode]
        sys.exit(f"failures in {WORK}: {', '.join(failed)}" if failed else 0)


def fuzz(name: str, minutes: float) -> None:
    """Fuzz one reader until an input fails; the process ends with it."""
    import atheris

    from tests.fuzz.mutations import mutated
    from tests.fuzz.readers import CORPUS, reader

    warnings.simplefilter("ignore")
    # Not `instrument_imports`, which has no effect on packages installed as editable by scikit-build-core.
    for function in [one for one in gc.get_objects() if isinstance(one, FunctionType)]:
        if (function.__module__ or "").startswith(GUIDED):
            atheris.instrument_func(function)
    found, files = WORK / name, WORK / "files"
    found.mkdir(parents=True, exist_ok=True)
    files.mkdir(exist_ok=True)
    read = reader(name, files)

    def call(content: bytes) -> None:
        try:
            read(content)
        except Exception:
            # The process ends, and the timer of atheris would kill it before it has saved the input.
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
            raise

    def change(content: bytes, most: int, seed: int) -> bytes:
        def raw(part: bytes) -> bytes:
            return bytes(atheris.Mutate(part, len(part) + 64))

        return mutated(content, random.Random(seed), raw)[:most]

    limits = [f"-max_total_time={round(60 * minutes)}", f"-timeout={SECONDS}", f"-rss_limit_mb={MEMORY}"]
    output = ["-print_final_stats=1", f"-artifact_prefix={found}-failure-"]
    arguments = [sys.argv[0], *limits, *output, "-max_len=65536", str(found), str(CORPUS / name)]
    print(f"{name}: {minutes:g} min", flush=True)
    atheris.Setup(arguments, call, custom_mutator=change)
    atheris.Fuzz()


main()
