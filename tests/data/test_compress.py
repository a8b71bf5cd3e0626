import shutil
import subprocess

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.data.compress import uncompress
from tests.data.lzw import compress

RNG = np.random.default_rng(0)
NUMBERS = "\n".join(f"{value:.4f}" for value in RNG.normal(size=60_000)).encode()
CONTENTS = {
    "empty": b"",
    "one byte": b"a",
    "repeated": b"a" * 10_000,
    "numbers": NUMBERS,
    "bytes": RNG.bytes(120_000),
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("options", [{}, {"max_bits": 12}, {"max_bits": 13, "clear_after": 5_003}])
def test_reads_what_compress_writes(content, options):
    compressed = compress(content, **options)
    assert uncompress(compressed) == content
    if shutil.which("gzip"):  # gzip reads .Z: the test's own writer is right
        assert subprocess.run(["gzip", "-dc"], input=compressed, capture_output=True, check=True).stdout == content


def test_all_widths_are_used():
    assert len(compress(CONTENTS["bytes"])) > 2 * 65_536  # more codes than 16 bits can name


def test_what_is_not_compressed():
    for content in (b"", b"\x1f\x8b\x08", b"\x1f\x9d"):
        with pytest.raises(InputError, match="is not in compress format"):
            uncompress(content)
    for bits in (9, 17):
        with pytest.raises(InputError, match=f"codes of up to {bits} bits"):
            uncompress(bytes([0x1F, 0x9D, 0x80 | bits, 97, 98, 99]))
    with pytest.raises(InputError, match="is damaged: code 511 at bit 24 is not in the table"):
        uncompress(b"\x1f\x9d\x90\xff\xff\xff")
