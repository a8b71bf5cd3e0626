"""The benchmarks in one table: speed and memory relative to the alternatives, from the latest records."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from s2gnn.bench.record import GIB, Row, latest_record
from s2gnn.bench.report import TITLES
from s2gnn.experiments.compare import span
from s2gnn.render import Block, Cell, Table, render

_HEADER = ("measurement", "compared with", "time or memory of the alternative ÷ ours")


def benchmark_summary(folder: Path) -> str:
    """Return a table in Markdown with the range of the ratios of every benchmark in a folder of records."""
    lines = (*_propagation(folder), *_epochs(folder), *_layers(folder), *_memory(folder), *_training(folder))
    block = Block("", tuple(tuple(map(Cell, line)) for line in lines))
    return render(Table("", _HEADER, (block,)), "markdown")


def _propagation(folder: Path) -> Iterator[tuple[str, ...]]:
    rows = latest_record(folder, "operator")["timings"]
    graphs = len({row["graph"] for row in rows})
    yield from _ratios(f"forward propagation, {rows[0]['alpha']} powers, {graphs} graphs", rows, ("csr", "gcnconv"))


def _epochs(folder: Path) -> Iterator[tuple[str, ...]]:
    rows = latest_record(folder, "epoch")["timings"]
    yield from _ratios(f"training epoch of S2-GNN, {len(rows)} data sets", rows, ("csr", "gcnconv", "gcn"))
    rows = latest_record(folder, "baselines")["timings"]
    yield from _ratios(f"training epoch of {len(rows)} baselines", rows, ("pyg",))


def _layers(folder: Path) -> Iterator[tuple[str, ...]]:
    compared: dict[tuple[str, str], list[Row]] = {}
    for row in latest_record(folder, "layers")["timings"]:
        if "GCNConv" in row["peer"]:
            compared.setdefault((row["layer"], row["peer"]), []).append(row)
    for (layer, peer), rows in compared.items():
        graphs = f", {len(rows)} graphs" if len(rows) > 1 else ""
        yield from _ratios(f"forward and backward pass, {layer}{graphs}", rows, ("peer",), peer)


def _memory(folder: Path) -> Iterator[tuple[str, ...]]:
    rows = latest_record(folder, "memory")["memory"]
    alpha = max(row["alpha"] for row in rows)
    ratios = [row["csr"] / row["operator"] for row in rows if row["alpha"] == alpha]
    yield f"memory of the operator, {alpha} powers, {len(ratios)} graphs", TITLES["csr"], span(ratios, ".1f")


def _training(folder: Path) -> Iterator[tuple[str, ...]]:
    record = latest_record(folder, "scale")
    ours, *others = record["training"]
    peak = ours["stages"][-1]["peak"]
    what = f"peak memory of full-batch training, {record['task'][0]['edges']:,} edges ({peak / GIB:.1f} GiB)"
    for other in others:
        needs = other["needs"] if other["not_run"] else other["stages"][-1]["peak"]
        estimated = " (estimated)" if other["not_run"] else ""
        yield what, TITLES[other["way"]], f"{needs / peak:.1f}{estimated}"


def _ratios(what: str, rows: Sequence[Row], ways: Sequence[str], name: str = "") -> Iterator[tuple[str, ...]]:
    for way in ways:
        pairs = [(row["ways"][way], row["ways"]["ours"]) for row in rows]
        ratios = [one["milliseconds"] / ours["milliseconds"] for one, ours in pairs if not one["not_run"]]
        if ratios:
            yield what, name or TITLES[way], span(ratios, ".1f")
