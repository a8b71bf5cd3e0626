"""Write the Unix `compress` format, to test its reader."""


def compress(content, max_bits=16, clear_after=None):
    """LZW codes of growing width in groups of eight; `clear_after` so many codes the table starts anew."""
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
