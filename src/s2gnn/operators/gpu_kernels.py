"""The kernels of `gpu` in Triton.

`sum_neighbours` has one program for a chunk of neighbours of a node, see `chunks`, and a block of features. KIND is
0 for fan_out, 1 for fan_in, 2 for branchwise. Nodes, entries and strides are 64-bit before they are multiplied.
"""

import triton
import triton.language as tl


@triton.jit
def _entries(values, c, row, columns, mask, rho, ALPHA: tl.constexpr, SIGN: tl.constexpr):
    """Compute S_ρ(i, j) = ±b^ρ c_ρ(i) c_ρ(j) of the powers `rho` (R,) and some edges of node i, (R, edges)."""
    power = tl.where((rho[:, None] <= ALPHA) & mask[None, :], 1.0, 0.0).to(values.dtype)
    for r in range(1, ALPHA + 1):
        power = tl.where(rho[:, None] >= r, power * (SIGN * values)[None, :], power)
    valid = rho <= ALPHA
    here = tl.load(c + row * ALPHA + rho - 1, mask=valid, other=0.0)
    there = tl.load(c + columns[None, :] * ALPHA + rho[:, None] - 1, mask=valid[:, None] & mask[None, :], other=0.0)
    return power * here[:, None] * there


@triton.jit
def _own(c, t, row, rho, ALPHA: tl.constexpr, DIAGONALS: tl.constexpr):
    """Compute S_ρ(i, i) of the powers `rho` (R,)."""
    valid = rho <= ALPHA
    if DIAGONALS:
        return tl.load(t + row * ALPHA + rho - 1, mask=valid, other=0.0)
    scale = tl.load(c + row * ALPHA + rho - 1, mask=valid, other=0.0)
    value = tl.load(t + row)
    power = tl.where(valid, 1.0, 0.0).to(scale.dtype)
    for r in range(1, ALPHA + 1):
        power = tl.where(rho >= r, power * value, power)
    return power * scale * scale


@triton.jit
def sum_neighbours(
    indptr, indices, b, c, t, chunks, x, out, partial, n, features,
    KIND: tl.constexpr, ALPHA: tl.constexpr, POWERS: tl.constexpr, SIGN: tl.constexpr, DIAGONALS: tl.constexpr,
    BLOCK_F: tl.constexpr, ACCUMULATED: tl.constexpr, SPLIT: tl.constexpr, BLOCK_E: tl.constexpr,
):  # fmt: skip
    """Sum one chunk of neighbours of a node; store the result, or the partial sums of a node with several chunks."""
    chunk = chunks + tl.program_id(0).to(tl.int64) * 3
    row = tl.load(chunk).to(tl.int64)
    if row < n:
        f = tl.program_id(1) * BLOCK_F + tl.arange(0, BLOCK_F)
        inside = f < features
        begin, place = tl.load(chunk + 1).to(tl.int64), tl.load(chunk + 2).to(tl.int64)
        end = tl.minimum(begin + SPLIT, tl.load(indptr + row + 1).to(tl.int64))
        split = place >= 0
        total = tl.zeros((BLOCK_E, BLOCK_F), ACCUMULATED)
        for group in range(0, ALPHA, POWERS):
            rho = 1 + group + tl.arange(0, POWERS)
            sums = tl.zeros((POWERS, BLOCK_E, BLOCK_F), ACCUMULATED)
            for position in range(begin, end, BLOCK_E):
                e = position + tl.arange(0, BLOCK_E)
                mask = e < end
                j = tl.load(indices + e, mask=mask, other=0).to(tl.int64)
                values = tl.load(b + e, mask=mask, other=0.0)
                entries = _entries(values, c, row, j, mask, rho, ALPHA, SIGN).to(ACCUMULATED)
                if KIND == 0:
                    at = j[:, None] * features + f[None, :]
                    h = tl.load(x + at, mask=mask[:, None] & inside[None, :], other=0.0).to(ACCUMULATED)
                    sums += entries[:, :, None] * h[None, :, :]
                else:
                    at = (j[None, :, None] * (ALPHA + 1) + rho[:, None, None]) * features + f[None, None, :]
                    known = (rho <= ALPHA)[:, None, None] & mask[None, :, None] & inside[None, None, :]
                    h = tl.load(x + at, mask=known, other=0.0).to(ACCUMULATED)
                    if KIND == 1:
                        total += tl.sum(entries[:, :, None] * h, axis=0)
                    else:
                        sums += entries[:, :, None] * h
            if KIND != 1:
                result = tl.sum(sums, axis=1)
                if split:
                    at = (place * (tl.cdiv(ALPHA, POWERS) * POWERS) + rho[:, None] - 1) * features + f[None, :]
                    tl.store(partial + at, result, mask=inside[None, :])
                else:
                    _store_branches(c, t, x, out, row, rho, f, features, result, KIND, ALPHA, DIAGONALS)
        if KIND == 1:
            result = tl.sum(total, axis=0)
            if split:
                tl.store(partial + place * features + f, result, mask=inside)
            else:
                _store_sum(c, t, x, out, row, f, features, result, ALPHA, POWERS, DIAGONALS)


@triton.jit
def add_partial_sums(
    c, t, chunks, x, out, partial, n, features,
    KIND: tl.constexpr, ALPHA: tl.constexpr, POWERS: tl.constexpr, DIAGONALS: tl.constexpr,
    BLOCK_F: tl.constexpr, ACCUMULATED: tl.constexpr,
):  # fmt: skip
    """Add the partial sums of a node with several chunks, in their order."""
    node = chunks + tl.program_id(0).to(tl.int64) * 3
    row = tl.load(node).to(tl.int64)
    if row < n:
        f = tl.program_id(1) * BLOCK_F + tl.arange(0, BLOCK_F)
        inside = f < features
        place, count = tl.load(node + 1).to(tl.int64), tl.load(node + 2)
        if KIND == 1:
            total = tl.zeros((BLOCK_F,), ACCUMULATED)
            for number in range(count):
                total += tl.load(partial + (place + number) * features + f, mask=inside, other=0.0)
            _store_sum(c, t, x, out, row, f, features, total, ALPHA, POWERS, DIAGONALS)
        else:
            for group in range(0, ALPHA, POWERS):
                rho = 1 + group + tl.arange(0, POWERS)
                sums = tl.zeros((POWERS, BLOCK_F), ACCUMULATED)
                for number in range(count):
                    padded = (place + number) * (tl.cdiv(ALPHA, POWERS) * POWERS)
                    at = (padded + rho[:, None] - 1) * features + f[None, :]
                    sums += tl.load(partial + at, mask=inside[None, :], other=0.0)
                _store_branches(c, t, x, out, row, rho, f, features, sums, KIND, ALPHA, DIAGONALS)


@triton.jit
def _store_branches(
    c, t, x, out, row, rho, f, features, sums,
    KIND: tl.constexpr, ALPHA: tl.constexpr, DIAGONALS: tl.constexpr,
):  # fmt: skip
    """Store the branches `rho` of a node: the sums over its neighbours plus its own signal; and branch 0."""
    inside = f < features
    start = row * (ALPHA + 1) * features
    known = (rho <= ALPHA)[:, None] & inside[None, :]
    at = start + rho[:, None] * features + f[None, :]
    if KIND == 0:
        identity = tl.load(x + row * features + f, mask=inside, other=0.0)
        signal = identity[None, :]
    else:
        identity = tl.load(x + start + f, mask=inside, other=0.0)
        signal = tl.load(x + at, mask=known, other=0.0)
    own = _own(c, t, row, rho, ALPHA, DIAGONALS).to(sums.dtype)
    tl.store(out + at, (sums + own[:, None] * signal.to(sums.dtype)).to(out.dtype.element_ty), mask=known)
    tl.store(out + start + f, identity, mask=inside)


@triton.jit
def _store_sum(
    c, t, x, out, row, f, features, total,
    ALPHA: tl.constexpr, POWERS: tl.constexpr, DIAGONALS: tl.constexpr,
):  # fmt: skip
    """Store the sum over the branches of a node: over its neighbours, plus its own signals."""
    inside = f < features
    start = row * (ALPHA + 1) * features
    total += tl.load(x + start + f, mask=inside, other=0.0).to(total.dtype)
    for group in range(0, ALPHA, POWERS):
        rho = 1 + group + tl.arange(0, POWERS)
        known = (rho <= ALPHA)[:, None] & inside[None, :]
        signal = tl.load(x + start + rho[:, None] * features + f[None, :], mask=known, other=0.0).to(total.dtype)
        own = _own(c, t, row, rho, ALPHA, DIAGONALS).to(total.dtype)
        total += tl.sum(own[:, None] * signal, axis=0)
    tl.store(out + row * features + f, total.to(out.dtype.element_ty), mask=inside)


@triton.jit
def gradient_of_entries(
    indptr, indices, b, c, chunks, grad, h, out, n, features,
    ALPHA: tl.constexpr, SIGN: tl.constexpr, BLOCK_F: tl.constexpr, SPLIT: tl.constexpr, BLOCK_E: tl.constexpr,
    ACCUMULATED: tl.constexpr,
):  # fmt: skip
    """Compute the gradients of one chunk of edges of a node."""
    chunk = chunks + tl.program_id(0).to(tl.int64) * 3
    row = tl.load(chunk).to(tl.int64)
    if row < n:
        begin = tl.load(chunk + 1).to(tl.int64)
        end = tl.minimum(begin + SPLIT, tl.load(indptr + row + 1).to(tl.int64))
        for position in range(begin, end, BLOCK_E):
            e = position + tl.arange(0, BLOCK_E)
            mask = e < end
            j = tl.load(indices + e, mask=mask, other=0).to(tl.int64)
            values = tl.load(b + e, mask=mask, other=0.0).to(ACCUMULATED)
            total = tl.zeros((BLOCK_E,), ACCUMULATED)
            coefficient = tl.full((BLOCK_E,), SIGN, ACCUMULATED)  # (±1)^ρ b^(ρ−1)
            for rho in range(1, ALPHA + 1):
                inner = tl.zeros((BLOCK_E, BLOCK_F), ACCUMULATED)
                for start in range(0, features, BLOCK_F):
                    f = start + tl.arange(0, BLOCK_F)
                    inside = f < features
                    g = tl.load(grad + (row * (ALPHA + 1) + rho) * features + f, mask=inside, other=0.0)
                    at = (j[:, None] * (ALPHA + 1) + rho) * features + f[None, :]
                    there = tl.load(h + at, mask=mask[:, None] & inside[None, :], other=0.0)
                    inner += g[None, :].to(ACCUMULATED) * there.to(ACCUMULATED)
                scale = tl.load(c + j * ALPHA + rho - 1, mask=mask, other=0.0) * tl.load(c + row * ALPHA + rho - 1)
                total += rho * coefficient * scale.to(ACCUMULATED) * tl.sum(inner, axis=1)
                coefficient *= SIGN * values
            tl.store(out + e, total.to(out.dtype.element_ty), mask=mask)


@triton.jit
def _kept(index, drop_below, key):
    """Compute whether dropout keeps the elements at `index`, from the bits of `activation._random_bits`."""
    index = index.to(tl.int64)
    low, high = index.to(tl.uint32), (index >> 32).to(tl.uint32)
    z = low * 0x9E3779B9 + high * 0x85EBCA6B + key.to(tl.uint32, bitcast=True)
    z = (z ^ (z >> 16)) * 0x21F0AAAD
    z = (z ^ (z >> 15)) * 0xD35A2D97
    return (z ^ (z >> 15)) >= drop_below.to(tl.uint32, bitcast=True)


@triton.jit(do_not_specialize=["drop_below", "key"])
def activate(
    x, bias, out, count, branches, columns, row_stride, branch_stride, drop_below, key, scale,
    DROPS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    column, branch, row = index % columns, (index // columns) % branches, index // columns // branches
    value = tl.load(x + row * row_stride + branch * branch_stride + column, mask=inside, other=0.0).to(tl.float32)
    shift = tl.load(bias + branch * columns + column, mask=inside, other=0.0).to(tl.float32)
    active = tl.maximum(value + shift, 0.0)
    if DROPS:
        active = tl.where(_kept(index, drop_below, key), scale * active, 0.0)
    tl.store(out + index, active.to(out.dtype.element_ty), mask=inside)


@triton.jit
def activate_backward(grad, y, out, count, scale, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    g = tl.load(grad + index, mask=inside, other=0.0).to(tl.float32)
    passed = tl.where(tl.load(y + index, mask=inside, other=0.0) > 0, scale * g, 0.0)
    tl.store(out + index, passed.to(out.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["drop_below", "key"])
def combine(
    x, bias, mu, out, count, columns, row_stride, branch_stride, drop_below, key, scale,
    BRANCHES: tl.constexpr, DROPS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    column, row = index % columns, index // columns
    total = tl.zeros((BLOCK,), tl.float32)
    start = x + row * row_stride + column
    for branch in range(BRANCHES):
        value = tl.load(start, mask=inside, other=0.0).to(tl.float32)
        shift = tl.load(bias + branch * columns + column, mask=inside, other=0.0).to(tl.float32)
        active = tl.maximum(value + shift, 0.0)
        if DROPS:
            kept = _kept((row * BRANCHES + branch) * columns + column, drop_below, key)
            active = tl.where(kept, scale * active, 0.0)
        total += tl.load(mu + branch).to(tl.float32) * active
        start += branch_stride
    tl.store(out + index, total.to(out.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["drop_below", "key"])
def combine_backward(
    x, bias, mu, grad, grad_x, by_bias, by_mu, rows, columns, row_stride, branch_stride, drop_below, key, scale,
    DROPS: tl.constexpr, BLOCK_F: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Compute the gradients of a block of rows of one branch, and their sums over these rows."""
    block, branch, branches = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64), tl.num_programs(1)
    f = tl.program_id(2) * BLOCK_F + tl.arange(0, BLOCK_F)
    inside = f < columns
    shift = tl.load(bias + branch * columns + f, mask=inside, other=0.0).to(tl.float32)
    factor = tl.load(mu + branch).to(tl.float32)
    by_shift, by_factor = tl.zeros((BLOCK_F,), tl.float32), tl.zeros((BLOCK_F,), tl.float32)
    for row in range(block * ROWS, tl.minimum(block * ROWS + ROWS, rows)):
        z = tl.load(x + row * row_stride + branch * branch_stride + f, mask=inside, other=0.0).to(tl.float32) + shift
        passed = tl.where(z > 0, tl.load(grad + row * columns + f, mask=inside, other=0.0).to(tl.float32), 0.0)
        index = (row * branches + branch) * columns + f
        if DROPS:
            passed = tl.where(_kept(index, drop_below, key), scale * passed, 0.0)
        tl.store(grad_x + index, (factor * passed).to(grad_x.dtype.element_ty), mask=inside)
        by_shift += factor * passed
        by_factor += passed * z
    tl.store(by_bias + (block * branches + branch) * columns + f, by_shift, mask=inside)
    tl.store(by_mu + (block * branches + branch) * tl.num_programs(2) + tl.program_id(2), tl.sum(by_factor))
