import shutil
import subprocess

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.data.compress import uncompress

RNG = np.random.default_rng(0)
NUMBERS = "\n".join(f"{value:.4f}" for value in RNG.normal(size=60_000)).encode()
CONTENTS = {
    "empty": b"",
    "one byte": b"a",
    "repeated": b"a" * 10_000,
    "numbers": NUMBERS,
    "bytes": RNG.bytes(120_000),  # more codes than 16 bits can name
}


def compress(content, max_bits=16, clear_after=None):
    """What the Unix command writes; a new table starts after `clear_after` codes."""
    bits, out, group = 9, bytearray([0x1F, 0x9D, 0x80 | max_bits]), []

    def flush(padded):
        if group:
            number = sum(code << (bits * i) for i, code in enumerate(group))
            out.extend(number.to_bytes(bits if padded else -(-bits * len(group) // 8), "little"))
            group.clear()

    def emit(code):
        group.append(code)
        if len(group) == 8:
            flush(padded=True)

    table, size, since_clear, known = {bytes([i]): i for i in range(256)}, 257, 0, b""
    for byte in content:
        longer = known + bytes([byte])
        if longer in table:
            known = longer
            continue
        emit(table[known])
        since_clear += 1
        if size >= 1 << bits and bits < max_bits:
            flush(padded=True)
            bits += 1
        if size < 1 << max_bits:
            table[longer] = size
            size += 1
        known = bytes([byte])
        if since_clear == clear_after:
            emit(256)
            flush(padded=True)
            bits, size, since_clear = 9, 257, 0
            table = {bytes([i]): i for i in range(256)}
    if known:
        emit(table[known])
    flush(padded=False)
    return bytes(out)


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("options", [{}, {"max_bits": 12}, {"max_bits": 13, "clear_after": 5_003}])
def test_reads_what_compress_writes(content, options):
    compressed = compress(content, **options)
    assert uncompress(compressed) == content
    if shutil.which("gzip"):  # gzip reads .Z: the test's own writer is right
        assert subprocess.run(["gzip", "-dc"], input=compressed, capture_output=True, check=True).stdout == content


def test_what_is_not_compressed():
    for content in (b"", b"\x1f\x8b\x08", b"\x1f\x9d"):
        with pytest.raises(InputError, match="is not in compress format"):
            uncompress(content)
    for bits in (9, 17):
        with pytest.raises(InputError, match=f"codes of up to {bits} bits"):
            uncompress(bytes([0x1F, 0x9D, 0x80 | bits, 97, 98, 99]))
    with pytest.raises(InputError, match="is damaged: code 511 at bit 24 is not in the table"):
        uncompress(b"\x1f\x9d\x90\xff\xff\xff")
