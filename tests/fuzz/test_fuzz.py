"""What fuzzing starts from and what it found, read once; `make fuzz` looks for more."""

import pytest

from tests.fuzz.readers import CORPUS, READERS, reader

FILES = sorted(path for path in CORPUS.glob("*/*"))


def test_every_reader_has_a_corpus():
    assert {path.parent.name for path in FILES} == set(READERS)
    assert sum(path.stat().st_size for path in FILES) < 2**17


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
@pytest.mark.filterwarnings("ignore")
def test_the_stored_inputs_are_read_or_refused(path, tmp_path):
    reader(path.parent.name, tmp_path)(path.read_bytes())
