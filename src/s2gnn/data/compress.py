"""Read the Unix `compress` format (.Z) of UCI's Isolet, for which Python has no module."""

from s2gnn.errors import InputError

CLEAR = 256
FIRST_BITS = 9


def uncompress(content: bytes) -> bytes:
    """The bytes that `compress` made `content` from: Lempel, Ziv and Welch's codes of 9 to 16 bits.

    Codes come in groups of eight of the same width; when the width changes, the rest of a group is padding.
    """
    if content[:2] != b"\x1f\x9d" or len(content) < 3:
        raise InputError("the file is not in compress format (.Z): it does not begin with the bytes 1f 9d")
    max_bits, block_mode = content[2] & 0x1F, bool(content[2] & 0x80)
    # compress -b 9 writes codes of 10 bits all the same; nobody ships such files.
    if not FIRST_BITS < max_bits <= 16:
        raise InputError(f"the .Z file has codes of up to {max_bits} bits, but 10 to 16 can be read")
    literals = [bytes([value]) for value in range(256)] + ([b""] if block_mode else [])
    table, previous = list(literals), b""
    pieces: list[bytes] = []
    bits, position, group_start = FIRST_BITS, 24, 24
    while position + bits <= 8 * len(content):
        byte = position >> 3
        window = int.from_bytes(content[byte : byte + 4], "little")
        code = (window >> (position & 7)) & ((1 << bits) - 1)
        position += bits
        if code == CLEAR and block_mode:
            table, previous = list(literals), b""
            position = group_start = _next_group(position, group_start, bits)
            bits = FIRST_BITS
            continue
        if code < len(table):
            entry = table[code]
        elif code == len(table) and previous:
            entry = previous + previous[:1]
        else:
            raise InputError(f"the .Z file is damaged: code {code} at bit {position - bits} is not in the table")
        pieces.append(entry)
        if previous and len(table) < 1 << max_bits:
            table.append(previous + entry[:1])
        previous = entry
        if len(table) >= 1 << bits and bits < max_bits:
            position = group_start = _next_group(position, group_start, bits)
            bits += 1
    return b"".join(pieces)


def _next_group(position: int, group_start: int, bits: int) -> int:
    """The first bit after the group of eight codes that ends at or after `position`."""
    group = 8 * bits
    return group_start + -(-(position - group_start) // group) * group
