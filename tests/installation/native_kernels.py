"""Every function of the native module against NumPy and SciPy, for all variants, powers and widths.

It needs neither torch nor s2gnn, so that it can check the module of a wheel where there is no torch, and one that was
built with sanitizers: `python native_kernels.py PATH/TO/_native*.so --threads 3`.
"""

import argparse
import ctypes
import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import scipy.sparse as sp

WIDTHS = (1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 64, 100)
TOLERANCE = {np.float32: 2e-4, np.float64: 1e-11}
SLOPE, HEADS = 0.2, 3


def load(path: Path) -> ModuleType:
    """The module in a file, under the name that it was compiled with."""
    spec = importlib.util.spec_from_file_location("_native", path)
    try:
        module = importlib.util.module_from_spec(spec)
    except ImportError as error:  # it uses the OpenMP runtime that PyTorch has loaded
        if "omp" not in str(error).lower():
            raise
        ctypes.CDLL("libgomp.so.1", mode=ctypes.RTLD_GLOBAL)
        module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def hub_and_isolated_nodes(rng: np.random.Generator) -> sp.csr_array:
    """A hub that is joined to half of the nodes, a ring, and isolated nodes at both ends and in between."""
    edges = [(3, node) for node in range(4, 24)] + [(node, node + 1) for node in range(30, 40)] + [(30, 40)]
    rows, columns = np.array(edges).T
    upper = sp.coo_array((rng.uniform(0.1, 2.0, len(edges)), (rows, columns)), shape=(43, 43))
    return sp.csr_array(upper + upper.T)


def graphs(rng: np.random.Generator) -> dict[str, sp.csr_array]:
    """The graphs that products are computed on."""
    edge = sp.csr_array(np.array([[0, 0.5], [0.5, 0]]))
    return {
        "hub": hub_and_isolated_nodes(rng),
        "no edges": sp.csr_array((3, 3)),
        "one node": sp.csr_array((1, 1)),
        "edge": edge,
    }


class Kernels:
    """The functions of one variant, called with results to fill."""

    def __init__(self, module: ModuleType, variant: str, threads: int) -> None:
        self.module, self.variant, self.threads = module, variant, threads

    def elementwise(self, name, *inputs, out):
        results = [np.full(shape, np.nan, inputs[0].dtype) for shape in out]
        getattr(self.module, name)(self.variant, self.threads, *inputs, *results)
        return results[0] if len(results) == 1 else results

    def on_pairs(self, name, graph, *inputs, out):
        real = next(x.dtype for x in inputs if isinstance(x, np.ndarray))
        results = [np.full(shape, np.nan, real) for shape in out]
        csr = graph.indptr, graph.indices, graph.reverse
        getattr(self.module, name)(self.variant, *csr, self.threads, *inputs, *results)
        return results[0] if len(results) == 1 else results


def close(found, expected, what):
    dtype = found.dtype.type
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, expected {expected.shape}"
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    error = float(np.abs(found - expected).max(initial=0)) / scale
    assert error <= TOLERANCE[dtype], f"{what}: error {error:.2g}, allowed {TOLERANCE[dtype]:.2g}"


def pattern(adjacency: sp.csr_array) -> SimpleNamespace:
    """The CSR arrays, the rows of the entries, and where the reverse of each is stored."""
    n, rows = adjacency.shape[0], np.repeat(np.arange(adjacency.shape[0]), np.diff(adjacency.indptr))
    columns = adjacency.indices.astype(np.int32)
    reverse = np.lexsort((rows, columns)).astype(np.int32)
    return SimpleNamespace(n=n, nnz=len(rows), rows=rows, indptr=adjacency.indptr.astype(np.int32), indices=columns,
                           reverse=reverse, weights=adjacency.data)  # fmt: skip


def check_products(run: Kernels, g: SimpleNamespace, alpha: int, f: int, real: type, rng) -> None:
    """fan_out, fan_in, branchwise and the gradients by entries and diagonals."""
    for sign, given in ((1, False), (-1, True)):
        b = rng.uniform(0, 1, g.nnz).astype(real)
        b = np.maximum(b, b[g.reverse])
        c, t = rng.uniform(0, 1, (g.n, alpha)).astype(real), rng.uniform(0, 1, g.n).astype(real)
        diagonals = rng.uniform(0, 1, (g.n, alpha)).astype(real)
        signals, h = rng.normal(size=(g.n, alpha + 1, f)).astype(real), rng.normal(size=(g.n, f)).astype(real)
        S = np.zeros((alpha + 1, g.n, g.n))
        S[0] = np.eye(g.n)
        for rho in range(1, alpha + 1):
            scale = c[:, rho - 1].astype(float)
            S[rho, g.rows, g.indices] = (sign * b.astype(float)) ** rho * scale[g.rows] * scale[g.indices]
            own = diagonals[:, rho - 1] if given else t.astype(float) ** rho * scale**2
            S[rho, np.arange(g.n), np.arange(g.n)] = own
        factors = g.indptr, g.indices, b, c, diagonals if given else t, sign
        many, one = (g.n, alpha + 1, f), (g.n, f)
        for tile in (
            ((), (256,)) if f in (1, 17) else ((),)
        ):  # bytes of rows in the cache: several passes over the edges

            def product(name, signal, shape, factors=factors, tile=tile):
                out = np.full(shape, np.nan, real)
                getattr(run.module, name)(run.variant, run.threads, *factors, signal, out, *tile)
                return out

            close(product("fan_out", h, many), np.einsum("rij,jf->irf", S, h), "fan_out")
            close(product("fan_in", signals, one), np.einsum("rij,jrf->if", S, signals), "fan_in")
            close(product("branchwise", signals, many), np.einsum("rij,jrf->irf", S, signals), "branchwise")
        grad = rng.normal(size=many).astype(real)
        rho = np.arange(1, alpha + 1)
        coefficients = sign**rho * rho * b[:, None].astype(float) ** (rho - 1) * c[g.rows] * c[g.indices]
        inner = np.einsum("erf,erf->er", grad[g.rows, 1:].astype(float), signals[g.indices, 1:])
        found = np.full(g.nnz, np.nan, real)
        arguments = g.indptr, g.indices, b, c, sign, grad, signals, found
        run.module.hadamard_gradient(run.variant, run.threads, *arguments)
        close(found, (coefficients * inner).sum(axis=1), "hadamard_gradient")
        products = run.elementwise("row_products", grad, signals, out=[(g.n, alpha)])
        close(products, np.einsum("irf,irf->ir", grad[:, 1:], signals[:, 1:]), "row_products")


def check_attention(run: Kernels, g: SimpleNamespace, f: int, real: type, rng) -> None:
    """The functions on ordered pairs, with a dense oracle for each."""
    signal, values = (g.n, HEADS, f), (HEADS, g.nnz)
    x, y, v = (rng.normal(size=signal).astype(real) for _ in range(3))
    a, edge = rng.normal(size=(HEADS, f)).astype(real), rng.normal(size=values).astype(real)
    xi, yj = x[g.rows].astype(float), y[g.indices].astype(float)  # (nnz, heads, f)
    close(run.on_pairs("dot", g, x, y, out=[values]), np.einsum("ehf,ehf->he", xi, yj), "dot")

    def summed(weights, rows, columns, of):
        out = np.zeros((g.n, *of.shape[1:]))
        np.add.at(out, rows, np.moveaxis(weights, 0, 1)[..., None] * of[columns])
        return out

    found = run.on_pairs("sum", g, False, edge, y, out=[signal])
    close(found, summed(edge, g.rows, g.indices, y.astype(float)), "sum")
    found = run.on_pairs("sum", g, True, edge, y, out=[signal])
    close(found, summed(edge, g.indices, g.rows, y.astype(float)), "reversed sum")
    z = xi + yj
    leaky, slopes = np.where(z > 0, z, SLOPE * z), np.where(z > 0, 1.0, SLOPE)
    found = run.on_pairs("additive", g, SLOPE, x, y, a, out=[values])
    close(found, np.einsum("hf,ehf->he", a, leaky), "additive")
    by_x, by_y, by_a = run.on_pairs(
        "additive_backward", g, SLOPE, x, y, a, edge, out=[signal, signal, (run.threads, HEADS, f)]
    )
    by_sum = edge.T[..., None] * slopes * a
    expected = np.zeros(signal), np.zeros(signal)
    np.add.at(expected[0], g.rows, by_sum)
    np.add.at(expected[1], g.indices, by_sum)
    close(by_x, expected[0], "additive_backward by x")
    close(by_y, expected[1], "additive_backward by y")
    close(by_a.sum(axis=0), np.einsum("he,ehf->hf", edge, leaky), "additive_backward by a")
    grad = rng.normal(size=(g.n, f)).astype(real)
    shares, mean = run.on_pairs("attend", g, edge, v, out=[values, (g.n, f)])
    exponentials, totals = np.exp(edge.astype(float)), np.zeros((g.n, HEADS))
    np.add.at(totals, g.rows, exponentials.T)
    softmax = exponentials / totals[g.rows].T
    close(shares, softmax, "attend, shares")
    close(mean, summed(softmax, g.rows, g.indices, v.astype(float)).mean(axis=1), "attend")
    by_scores, by_v = run.on_pairs("attend_backward", g, shares, v, grad, out=[values, signal])
    by_share = np.einsum("ef,ehf->he", grad[g.rows].astype(float), v[g.indices]) / HEADS
    means = np.zeros((g.n, HEADS))
    np.add.at(means, g.rows, (softmax * by_share).T)
    close(by_scores, softmax * (by_share - means[g.rows].T), "attend_backward by scores")
    repeated = np.repeat(grad[:, None].astype(float), HEADS, axis=1) / HEADS
    close(by_v, summed(softmax, g.indices, g.rows, repeated), "attend_backward by v")


def check_activation(run: Kernels, branches: int, f: int, rng) -> None:
    """Bias, ReLU and dropout, their combination, and the gradients of both; strided and contiguous."""
    rows, key = 70, 12345
    bias, mu = (rng.normal(size=shape).astype(np.float32) for shape in ((branches, f), (branches,)))
    wide = rng.normal(size=(rows, branches, f + 3)).astype(np.float32)
    grad = rng.normal(size=(rows, f)).astype(np.float32)
    for x in (wide[..., :f], np.ascontiguousarray(wide[..., :f])):
        for drop in (0.0, 0.4):
            y = run.elementwise("activate", x, bias, key, drop, out=[x.shape])
            active = np.maximum(x + bias, 0) / (1 - drop)
            kept = y > 0 if drop else active > 0
            close(y, np.where(kept, active, 0), "activate")
            backward = run.elementwise("activate_backward", np.ascontiguousarray(x), y, drop, out=[x.shape])
            close(backward, np.where(kept, x / (1 - drop), 0), "activate_backward")
            combined = run.elementwise("combine", x, bias, mu, key, drop, out=[(rows, f)])
            close(combined, np.einsum("r,nrf->nf", mu, y), "combine")
            shapes = [x.shape, bias.shape, mu.shape]
            found = run.elementwise("combine_backward", x, bias, mu, grad, key, drop, out=shapes)
            by_x = mu[:, None] * np.where(kept, grad[:, None] / (1 - drop), 0)
            expected = by_x, by_x.sum(axis=0), np.einsum("nf,nrf->r", grad, y)
            for one, other, name in zip(found, expected, ("x", "bias", "mu"), strict=True):
                close(one, other, f"combine_backward by {name}")


def check_graphs(module: ModuleType, g: SimpleNamespace, alpha: int, real: type, rng) -> None:
    """Graphs from lists of edges in any order, their factors, and the gradients of these."""
    order = rng.permutation(g.nnz)
    rows, columns = g.rows[order].astype(np.int64), g.indices[order].astype(np.int64)
    numbers = np.full(g.nnz, -7, np.int32)
    module.number_pairs(g.indptr, g.indices, numbers)
    assert np.array_equal(numbers, numbers[g.reverse])
    both, three, place = (np.full(size, -7, np.int32) for size in (2 * g.n + 2, 3 * g.nnz, g.nnz))
    assert module.pattern_of_edges(rows, columns, both, three, place) == g.nnz
    assert np.array_equal(both, np.tile(g.indptr, 2))
    assert np.array_equal(three, np.concatenate([g.indices, g.indices, g.reverse]))
    assert np.array_equal(place, order)

    b, c, t = np.full(g.nnz, np.nan, real), np.full((g.n, alpha), np.nan), np.full(g.n, np.nan)
    module.hadamard_factors(g.indptr, g.indices, g.weights, 0.7, 0, 1e-12, b, c, t)
    A = sp.csr_array((g.weights, g.indices, g.indptr), shape=(g.n, g.n)).toarray() + 0.7 * np.eye(g.n)
    for rho in range(1, alpha + 1):
        scale = (A**rho).sum(axis=1) ** -0.5
        entries = b.astype(float) ** rho * c[g.rows, rho - 1] * c[g.indices, rho - 1]
        S = scale[:, None] * A**rho * scale
        close(entries.astype(real), S[g.rows, g.indices], "hadamard_factors")
        close(t**rho * c[:, rho - 1] ** 2, S.diagonal(), "hadamard_factors, diagonal")

    of_pairs = np.zeros(g.nnz // 2)
    of_pairs[numbers] = g.weights
    b, q, largest, diagonal = np.empty(g.nnz, real), np.empty((g.n, alpha)), np.empty(g.n), np.empty(g.n)
    edges = g.indptr, g.indices, numbers, of_pairs
    for shift in range(4):
        module.edge_factors(*edges, shift, b, q, largest, diagonal)
        by_b, by_q, by_diagonal = rng.normal(size=g.nnz).astype(real), rng.normal(size=q.shape), rng.normal(size=g.n)
        grad = np.full(g.nnz // 2, np.nan)
        module.edge_factors_backward(*edges, shift, largest, by_b, by_q, by_diagonal, grad)
        if shift == 0:
            w, of_row = g.weights, largest[g.rows]
            root, rho = np.sqrt(of_row * largest[g.indices]), np.arange(1, alpha + 1)
            close(b, (w / root).astype(real), "edge_factors")
            sums = np.zeros((g.n, alpha))
            np.add.at(sums, g.rows, (w / of_row)[:, None] ** rho)
            close(q, sums, "edge_factors, sums")
            slopes = rho * (w / of_row)[:, None] ** (rho - 1) / of_row[:, None]
            expected = np.zeros(g.nnz // 2)
            np.add.at(expected, numbers, by_b / root + (by_q[g.rows] * slopes).sum(axis=1))
            close(grad, expected, "edge_factors_backward")
        assert np.isfinite(grad).all()


def refused(call: Callable[[], object], text: str, what: str) -> None:
    """Require that a call raises a ValueError with `text`."""
    try:
        call()
    except ValueError as error:
        if text not in str(error):
            raise
    else:
        raise AssertionError(f"accepted: {what}")


def check_refusals(module: ModuleType) -> None:
    """Indices that lie outside, in every function that takes a pattern: NumPy's arrays can be changed at any time."""
    variant, real, alpha, f = module.variants()[0], np.float32, 2, 4
    good = pattern(sp.csr_array(np.array([[0, 1.0, 0], [1, 0, 1], [0, 1, 0]])))
    b, c, t = np.ones(4, real), np.ones((3, alpha), real), np.ones(3, real)
    one, many = np.ones((3, f), real), np.ones((3, alpha + 1, f), real)
    values, a, weights, reals = np.ones((alpha + 1, 4), real), np.ones((alpha + 1, f), real), np.ones(2), np.ones(3)

    def calls(g):
        csr, three, number = (g.indptr, g.indices), (g.indptr, g.indices, g.reverse), g.reverse % 2
        sums, run = np.ones((3, alpha)), (variant, 1)
        yield lambda: module.fan_out(*run, *csr, b, c, t, 1, one, many)
        yield lambda: module.fan_in(*run, *csr, b, c, t, 1, many, one)
        yield lambda: module.branchwise(*run, *csr, b, c, t, 1, many, many.copy())
        yield lambda: module.hadamard_gradient(*run, *csr, b, c, 1, many, many, np.ones(4, real))
        yield lambda: module.dot(variant, *three, 1, many, many, values.copy())
        yield lambda: module.sum(variant, *three, 1, True, values, many, many.copy())
        yield lambda: module.additive(variant, *three, 1, SLOPE, many, many, a, values.copy())
        grads = many.copy(), many.copy(), a[None].copy()
        yield lambda: module.additive_backward(variant, *three, 1, SLOPE, many, many, a, values, *grads)
        yield lambda: module.attend(variant, *three, 1, values, many, values.copy(), one.copy())
        yield lambda: module.attend_backward(variant, *three, 1, values, many, one, values.copy(), many.copy())
        yield lambda: module.hadamard_factors(*csr, np.ones(4), 1.0, 0, 1e-12, b.copy(), sums, reals.copy())
        yield lambda: module.number_pairs(*csr, g.reverse.copy())
        yield lambda: module.edge_factors(*csr, number, weights, 0, b.copy(), sums, reals.copy(), reals.copy())
        grad = weights.copy()
        yield lambda: module.edge_factors_backward(*csr, number, weights, 1, reals, b, sums, reals, grad)

    for call in calls(good):
        call()
    for name, position in (("indices", 0), ("indices", 3), ("indptr", 0), ("indptr", 1), ("indptr", 3)):
        for value in (-1, 9, 2**31 - 1, -(2**31)):
            bad = SimpleNamespace(**{key: getattr(x, "copy", lambda x=x: x)() for key, x in vars(good).items()})
            getattr(bad, name)[position] = value
            for number, call in enumerate(calls(bad)):
                refused(call, "not a CSR pattern", f"call {number} with {name}[{position}] = {value}")
    for value in (-1, 4, 2**31 - 1):
        bad = SimpleNamespace(**{**vars(good), "reverse": good.reverse.copy()})
        bad.reverse[2] = value
        refused(list(calls(bad))[5], "reverse has a pair that does not exist", f"sum with reverse[2] = {value}")
    ends = np.array([0, 1], np.int64), np.array([1, 0], np.int64)
    for value in (-1, 2, 2**40):
        rows = np.array([0, value], np.int64)
        three, place = np.empty(6, np.int32), np.empty(2, np.int32)
        assert module.pattern_of_edges(rows, ends[1], np.empty(6, np.int32), three, place) == -1


def check(module: ModuleType, threads: int, alphas=range(1, 10), widths=WIDTHS, seed: int = 0) -> int:
    """Run all checks; returns the number of combinations of variant, graph, number of powers and width."""
    rng, count = np.random.default_rng(seed), 0
    patterns = {name: pattern(adjacency) for name, adjacency in graphs(rng).items()}
    for real in (np.float32, np.float64):
        for variant in module.variants():
            run = Kernels(module, variant, threads)
            for name, g in patterns.items():
                for f in widths if name == "hub" else widths[:2]:
                    for alpha in alphas:
                        check_products(run, g, alpha, f, real, rng)
                        count += 1
                    check_attention(run, g, f, real, rng)
            if real is np.float32:
                for f in widths:
                    check_activation(run, 3, f, rng)
        for g in patterns.values():
            for alpha in alphas:
                check_graphs(module, g, alpha, real, rng)
    check_refusals(module)
    return count


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    native = load(given.module)
    combinations = check(native, given.threads)
    print(f"{', '.join(native.variants())}: {combinations} combinations of variant, graph, powers and width")
