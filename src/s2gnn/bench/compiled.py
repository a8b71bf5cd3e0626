"""Compilation of the GPU kernels without a GPU: registers and spills of every variant."""

import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import get_ptxas
from triton.compiler import ASTSource

from s2gnn.bench.record import Row
from s2gnn.operators import gpu, gpu_kernels
from s2gnn.operators.chunks import SPLIT

TARGETS = {
    "sm_80": GPUTarget("cuda", 80, 32),  # A100
    "sm_90": GPUTarget("cuda", 90, 32),  # H100
    "gfx942": GPUTarget("hip", "gfx942", 64),  # MI300
}
ALPHAS = (1, 2, 3, 4, 5, 6, 8, 12)
WIDTH = 64

_CSR, _CHUNKS = ("*i32", "*i32", "*fp32", "*fp32"), "*i32"
_ACTIVATION = ("i32", "i32", "i32", "fp32")  # stride of the branches, threshold and key of dropout, scale


class Variant(NamedTuple):
    """A kernel, the types of its arguments, and the values of its constants."""

    kernel: str
    alpha: int
    function: Any
    types: tuple[str, ...]
    constants: dict[str, Any]


def compile_kernels(targets: Iterable[str], alphas: Iterable[int] = ALPHAS) -> Iterator[Row]:
    """Yield a row for each kernel, α and target: registers per thread, and spilled bytes."""
    for target in targets:
        for variant in _variants(tuple(alphas)):
            facts = _compile(variant, target)
            yield {"kernel": variant.kernel, "alpha": variant.alpha, "target": target, "width": WIDTH, **facts}


def _variants(alphas: tuple[int, ...]) -> Iterator[Variant]:
    block, float32, chunks = {"BLOCK_F": gpu.feature_block(WIDTH)}, {"ACCUMULATED": tl.float32}, {"SPLIT": SPLIT}
    for name, kind in (("fan_out", gpu.FAN_OUT), ("fan_in", gpu.FAN_IN), ("branchwise", gpu.BRANCHWISE)):
        types: tuple[str, ...] = (*_CSR, "*fp32", _CHUNKS, "*fp32", "*fp32", "*fp32", "i32", "i32")
        for alpha in alphas:
            powers = {"KIND": kind, "ALPHA": alpha, "POWERS": gpu.powers_at_once(alpha), "SIGN": 1, "DIAGONALS": False}
            constants = {**powers, **chunks, "BLOCK_E": gpu.BLOCK_E, **block, **float32}
            yield Variant(name, alpha, gpu_kernels.sum_neighbours, types, constants)
    types = (*_CSR, _CHUNKS, "*fp32", "*fp32", "*fp32", "i32", "i32")
    for alpha in alphas:
        constants = {"ALPHA": alpha, "SIGN": 1, **chunks, "BLOCK_E": 4 * gpu.BLOCK_E, **block, **float32}
        yield Variant("hadamard_gradient", alpha, gpu_kernels.gradient_of_entries, types, constants)
    types = ("*fp32",) * 4 + ("i64", "i32", "i64", *_ACTIVATION)
    for alpha in alphas:
        constants = {"BRANCHES": alpha + 1, "DROPS": True, "BLOCK": gpu.BLOCK}
        yield Variant("combine", alpha, gpu_kernels.combine, types, constants)
    types = ("*fp32",) * 7 + ("i32", "i32", "i64", *_ACTIVATION)
    constants = {"DROPS": True, "ROWS": gpu.BLOCK_ROWS, **block}
    yield Variant("combine_backward", 0, gpu_kernels.combine_backward, types, constants)


def _compile(variant: Variant, target: str) -> Row:
    names, remaining = variant.function.arg_names, iter(variant.types)
    signature = {name: "constexpr" if name in variant.constants else next(remaining) for name in names}
    places = {(names.index(name),): value for name, value in variant.constants.items()}
    source = ASTSource(fn=variant.function, signature=signature, constexprs=places)
    assembly = triton.compile(source, target=TARGETS[target], options=gpu.OPTIONS).asm
    if TARGETS[target].backend == "hip":
        text, registers = assembly["amdgcn"], r"\.vgpr_count: +(\d+)"
        spilled = 4 * (_number(r"vgpr_spill_count: +(\d+)", text) + _number(r"sgpr_spill_count: +(\d+)", text))
    else:
        text, registers = _assembler_output(assembly["ptx"], TARGETS[target].arch), r"Used (\d+) registers"
        spilled = _number(r"(\d+) bytes spill stores", text) + _number(r"(\d+) bytes spill loads", text)
    return {"registers": _number(registers, text), "spilled": spilled}


def _assembler_output(ptx: str, arch: int) -> str:
    """Return what Triton's assembler reports about a PTX program."""
    (architecture,) = re.findall(r"^\.target (\w+)", ptx, re.MULTILINE)
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx)
        file.flush()
        to = [f"--gpu-name={architecture}", "--output-file=/dev/null"]
        command = [get_ptxas(arch).path, "--verbose", *to, file.name]
        return subprocess.run(command, check=True, capture_output=True, text=True).stderr


def _number(pattern: str, text: str) -> int:
    (found,) = re.findall(pattern, text)
    return int(found)
