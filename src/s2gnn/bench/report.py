"""The tables of benchmarks for the terminal and the documentation."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from s2gnn.bench.cost import dense_flops
from s2gnn.bench.fitting import estimated_seconds
from s2gnn.bench.record import GIB, Row, benchmark_of, command_for, origin_text, read_record, records_of
from s2gnn.bench.tasks import Task
from s2gnn.errors import InputError
from s2gnn.render import Block, Cell, Table, as_markdown

MIB = 2**20
ALLOWANCE = 1.3  # bound on the operator's bytes, relative to the minimum
# Titles of the alternatives, in the order of the columns.
TITLES = {
    "ours": "ours",
    "one_csr": "one CSR",
    "csr": "α CSR matrices",
    "torch_sparse": "torch_sparse",
    "gcnconv": "GCNConv per branch",
    "gcn": "PyG's GCN, one branch",
    "pyg": "PyG",
}

EPOCH = "One epoch (step and evaluation)"
_MACHINE = "This machine, measured in the same run"

Column = Callable[[Row], str]
Columns = dict[str, Column]


def render_benchmark(path: Path) -> str:
    """Return the tables of a benchmark as Markdown: the latest record, then those of other processors, folded."""
    if not (paths := records_of(path)):
        return f"No record yet: run `{command_for(path)}`.\n"
    latest, *others = map(_render_record, paths)
    folded = (
        f"<details><summary>{_processor(read_record(one))}</summary>\n\n{text}\n</details>\n"
        for one, text in zip(paths[1:], others, strict=True)
    )
    return "\n".join([latest, *folded])


def _render_record(path: Path) -> str:
    record = read_record(path)
    try:
        found = tables(record)
    except KeyError as error:
        return f"The record was made by an older version and has no {error}: run `{command_for(path)}`.\n"
    except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError) as error:
        raise InputError(f"{path} is damaged ({error!r}): recreate it with {command_for(path)}") from error
    measured = [table for table in found if table.title != _MACHINE]
    made = f"{origin_text(record)}, torch {record['versions']['torch']}{_machine_text(record)}.\n"
    return "\n".join([*map(titled_markdown, measured), made])


def _machine_text(record: Row) -> str:
    """Return the processor and its rates, as the end of a sentence; "" in records without rates."""
    rates = _machine_rates(record)
    return f"; {', '.join(f'{name} {rate}' for name, rate in rates)}" if rates else ""


def _processor(record: Row) -> str:
    return (
        record.get("gpu")
        or record.get("cpu")
        or f"Unnamed processor, kernel {record['kernel']}, {record['threads']} threads"
    )


def titled_markdown(table: Table) -> str:
    """Return a table in Markdown, below its title."""
    return f"**{table.title}**\n\n{as_markdown(table)}"


def table_of(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table with a single block."""
    return Table(title, tuple(header), (Block("", tuple(tuple(map(Cell, row)) for row in rows)),))


def _titled(title: str, columns: Columns, rows: Sequence[Row]) -> list[Table]:
    """Return one table for each run of consecutive rows with the same title."""
    return [
        table_of(name, tuple(columns), [[text(row) for text in columns.values()] for row in group])
        for name, group in groupby(rows, key=title.format_map)
    ]


def _machine_rates(record: Row) -> list[tuple[str, str]]:
    """Return the names and values of the machine's properties; empty if the benchmark does not measure them."""
    if not (machine := record.get("machine")):
        return []
    return [
        ("processor", record.get("gpu") or record.get("cpu", "not recorded")),
        ("kernel", record["kernel"]),
        ("threads", str(record["threads"])),
        ("memory bandwidth", f"{machine['bandwidth'] / 1e9:.1f} GB/s"),
        ("float32 matrix product", f"{machine['gemm'] / 1e9:.0f} GFLOP/s"),
    ]


def tables(record: Row) -> list[Table]:
    """Return the tables of a record, by the benchmark in its command."""
    machine, found = record.get("machine", {}), []
    if rates := _machine_rates(record):
        found.append(table_of(_MACHINE, ("", "measured"), rates))
    for part, make in _TABLES[benchmark_of(record)].items():
        rows = [{**row, **machine, "task": record.get("task")} for row in record.get(part, ())]
        for row in rows:
            row["layers"] = " → ".join(map(str, row.get("widths", ())))
        found += make(rows) if rows else []
    return found


def _timings(title: str, facts: Columns, rows: Sequence[Row]) -> list[Table]:
    """Return milliseconds of ours, ratios of the alternatives, and shares of the machine's rates if rows have them."""
    columns = {**facts, "ours (ms)": _milliseconds("ours")}
    for way in (way for way in TITLES if way in rows[0]["ways"]):
        if way == "one_csr":
            columns["ours ÷ one CSR"] = _ratio("ours", way, digits=2)
        elif way != "ours":
            columns |= {"PyG (ms)": _milliseconds("pyg")} if way == "pyg" else {}
            columns[f"{TITLES[way]} ÷ ours"] = _ratio(way, "ours")
    if "streamed_bytes" in rows[0]:
        columns["minimum MiB"] = lambda row: f"{row['streamed_bytes'] / MIB:.0f}"
        columns["of the bandwidth"] = lambda row: _share(row, row["streamed_bytes"] / row["bandwidth"])
        columns["with gathers"] = lambda row: _share(row, row["gathered_bytes"] / row["bandwidth"])
    if "flops" in rows[0]:
        columns["dense GFLOP"] = lambda row: f"{row['flops'] / 1e9:.2f}"
        columns["their minimum (ms)"] = lambda row: (
            f"{_three_digits(1e3 * row['flops'] / row['gemm'])} ({_share(row, row['flops'] / row['gemm'])})"
        )
    return _titled(title, columns, rows)


def _memory(rows: Sequence[Row]) -> list[Table]:
    """Return memory at the largest α, and memory of the operator relative to its bound at every α."""
    parts = {
        "operator": "operator",
        "bound": "bound",
        "resident": "resident growth",
        "graph": "the caller's graph",
        "csr": "α CSR matrices",
        "edge_list": "one edge list, α weights",
        "edge_lists": "α edge lists",
    }
    columns: Columns = {
        "graph": "{workload}".format_map,
        "nodes": "{nodes:,}".format_map,
        "stored nonzeros": "{directions:,}".format_map,
        **{title: _mebibytes(part) for part, title in parts.items()},
    }
    alphas = sorted({row["alpha"] for row in rows})
    ratios = {(row["workload"], row["alpha"]): f"{ALLOWANCE * row['operator'] / row['bound']:.3f}" for row in rows}
    largest = [row for row in rows if row["alpha"] == alphas[-1]]
    return [
        *_titled("Memory at α = {alpha}, MiB", columns, largest),
        table_of(
            f"Operator ÷ (8 bytes per nonzero + 4 α bytes per node), the bound is {ALLOWANCE}",
            ("graph", *(f"α = {alpha}" for alpha in alphas)),
            [(row["workload"], *(ratios[row["workload"], alpha] for alpha in alphas)) for row in largest],
        ),
    ]


def _compiled(rows: Sequence[Row]) -> list[Table]:
    """Return a table for each target: registers of every kernel and α, and spilled bytes if there are any."""
    alphas = sorted({row["alpha"] for row in rows if row["alpha"]})
    found = []
    for target in dict.fromkeys(row["target"] for row in rows):
        kernels: dict[str, dict[int, str]] = {}
        for row in (row for row in rows if row["target"] == target):
            text = f"{row['registers']}, {row['spilled']} bytes spilled" if row["spilled"] else str(row["registers"])
            kernels.setdefault(row["kernel"], {}).update(
                dict.fromkeys([row["alpha"]] if row["alpha"] else alphas, text)
            )
        title = f"Registers per thread on {target}, F = {rows[0]['width']}, float32"
        texts = [(name, *(by_alpha[alpha] for alpha in alphas)) for name, by_alpha in kernels.items()]
        found.append(table_of(title, ("kernel", *(f"α = {alpha}" for alpha in alphas)), texts))
    return found


def _training(rows: Sequence[Row]) -> list[Table]:
    task = Task(**rows[0]["task"][0])
    texts: list[tuple[str, ...]] = []
    for row in rows:
        if row["not_run"]:
            texts.append((TITLES[row["way"]], *("–",) * 6, _refusal(row)))
            continue
        built = [stage for stage in row["stages"] if stage["name"] in ("graph", "operator")]
        seconds = [*(stage["seconds"] for stage in built), epoch_seconds(row)]
        peaks = [*(stage["peak"] for stage in built), row["stages"][-1]["peak"]]
        graph, operator, epoch = (f"{value:.1f}" for value in seconds)
        with_graph, with_operator, peak = (f"{value / GIB:.2f}" for value in peaks)
        minimum = f"{dense_flops(task) / row['gemm']:.1f}" if row["way"] == "ours" else "–"
        name = TITLES[row["way"]]
        texts.append((name, graph, operator, with_graph, with_operator, epoch, minimum, f"{peak} GiB"))
    title = (
        f"Full-batch training: {task.nodes:,} nodes, {task.edges:,} edges, {task.features} features, "
        f"{task.layers} layers of {task.hidden}, α = {task.alpha}, {task.labels} labels"
    )
    header = ("network", "graph (s)", "operator (s)", "peak, graph (GiB)", "peak, operator (GiB)", "epoch (s)")
    return [table_of(title, (*header, "dense minimum (s)", "peak memory"), texts)]


def epoch_seconds(run: Row) -> float:
    """Return the time of the fastest epoch."""
    return float(min(stage["seconds"] for stage in run["stages"] if stage["name"].startswith("epoch")))


_GRAPHS: Columns = {
    "graph": "{what}".format_map,
    "points": "{points:,}".format_map,
    "seconds": "{seconds:.1f}".format_map,
    "µs per point": lambda row: f"{1e6 * row['seconds'] / row['points']:.0f}",
    "peak MiB": "{peak_mib:,.0f}".format_map,
    "edges": "{edges:,}".format_map,
    "": "{note}".format_map,
}
_PROPAGATION: Columns = {
    "graph": "{graph}".format_map,
    "nonzeros": "{nonzeros:,}".format_map,
    "F": "{width}".format_map,
}
_ORDERS: Columns = {
    **_PROPAGATION,
    "forward (ms)": lambda row: _three_digits(1e3 * row["seconds"]["forward"]),
    "÷ reordered": lambda row: f"{row['seconds']['forward'] / row['seconds']['forward, reordered']:.2f}",
    "backward (ms)": lambda row: _three_digits(1e3 * row["seconds"]["backward"]),
    " ÷ reordered": lambda row: f"{row['seconds']['backward'] / row['seconds']['backward, reordered']:.2f}",
    "reordering (s)": "{reordering:.2f}".format_map,
}
_EPOCH: Columns = {"task": "{workload}".format_map, "nonzeros": "{nonzeros:,}".format_map}
_LAYERS: Columns = {
    "layer": "{layer}".format_map,
    "graph": lambda row: row.get("graph", "–"),
    "ours (ms)": lambda row: outcome_text(row["ways"]["ours"]),
    "compared with": "{peer}".format_map,
    "that (ms)": lambda row: outcome_text(row["ways"]["peer"]),
    "that ÷ ours": lambda row: _ratio("peer", "ours")(row),
}
_CALCULATED: Columns = {
    "graph": "{graph}".format_map,
    "ours (ms)": lambda row: _three_digits(1e3 * row["seconds"]["ours"]),
    "α CSR products ÷ ours": lambda row: f"{row['seconds']['csr'] / row['seconds']['ours']:.1f}",
    "α GCNConv ÷ ours": lambda row: f"{row['seconds']['gcnconv'] / row['seconds']['ours']:.1f}",
}
_FITS: Columns = {
    "rows × columns": "{rows:,} × {columns}".format_map,
    "labels": "{labels:,}".format_map,
    "seconds": "{seconds:.1f}".format_map,
    "processor seconds": "{processor_seconds:.1f}".format_map,
    "expected processor seconds": lambda row: f"{estimated_seconds(row):.1f}",
    "peak GiB": lambda row: f"{row['peak_bytes'] / GIB:.2f}",
    "expected GiB": lambda row: f"{row['expected_bytes'] / GIB:.2f}",
    "accuracy (%)": lambda row: f"{100 * row['accuracy']:.1f}",
}
_ROUNDS: Columns = {
    "rows × columns": "{rows:,} × {columns}".format_map,
    "labels": "{labels:,}".format_map,
    "seconds": "{seconds:.1f}".format_map,
    "processor seconds": "{processor_seconds:.1f}".format_map,
    "request, median (ms)": lambda row: f"{1e3 * row['median_request_seconds']:.0f}",
    "request, slowest (ms)": lambda row: f"{1e3 * row['slowest_request_seconds']:.0f}",
}
_ON_TASK = " on {workload}: {nonzeros:,} nonzeros, layers {layers}, heads: {heads}"
# For each benchmark, the tables of each list of its record.
_TABLES: dict[str, dict[str, Callable[[Sequence[Row]], list[Table]]]] = {
    "fit": {"timings": partial(_titled, "S2GNNClassifier().fit, evaluation on hidden labels included", _FITS)},
    "label": {"timings": partial(_titled, "s2gnn label: a round, from an answer to new suggestions", _ROUNDS)},
    "operator": {"timings": partial(_timings, "Forward propagation, α = {alpha}", _PROPAGATION)},
    "epoch": {"timings": partial(_timings, EPOCH, _EPOCH)},
    "baselines": {"timings": partial(_timings, EPOCH + _ON_TASK, {"model": "{model}".format_map})},
    "layers": {"timings": partial(_titled, "Forward and backward pass", _LAYERS)},
    "memory": {"memory": _memory},
    "gpu": {
        "kernels": _compiled,
        "calculated": partial(
            _titled,
            "{device}, forward propagation with α = {alpha} and F = {width}: calculated, not measured",
            _CALCULATED,
        ),
    },
    "scale": {
        "grid": partial(_timings, "Erdős–Rényi grid, forward propagation, α = {alpha}", _PROPAGATION),
        "epochs": partial(_timings, EPOCH, _EPOCH),
        "orders": partial(_titled, "Nodes in the reverse Cuthill–McKee order, α = {alpha}", _ORDERS),
        "training": _training,
    },
    "graphs": {
        "timings": partial(
            _titled, "Building graphs (k = 30, 64 features; diffusion: Pubmed, teleport 0.05, top 128)", _GRAPHS
        )
    },
}


def _mebibytes(part: str) -> Column:
    return lambda row: f"{row[part] / MIB:.1f}"


def outcome_text(outcome: Row) -> str:
    """Return the milliseconds of an alternative, or the reason why it was not run."""
    return _refusal(outcome) or _three_digits(outcome["milliseconds"])


def _milliseconds(way: str) -> Column:
    return lambda row: outcome_text(row["ways"][way])


def _ratio(way: str, other: str, digits: int = 1) -> Column:
    """Return the ratio of the times of two alternatives, or the reason why one was not run."""

    def column(row: Row) -> str:
        one, two = row["ways"][way], row["ways"][other]
        return _refusal(one) or _refusal(two) or f"{one['milliseconds'] / two['milliseconds']:.{digits}f}"

    return column


def _share(row: Row, seconds: float) -> str:
    """Return `seconds` relative to the time of ours, in %."""
    ours = row["ways"]["ours"]["milliseconds"]
    return f"{1e5 * seconds / ours:.0f} %" if ours else "–"


def _three_digits(milliseconds: float) -> str:
    return f"{milliseconds:.1f}" if milliseconds >= 1 else f"{milliseconds:.3f}"


def _refusal(outcome: Row) -> str:
    """Return the reason why an alternative was not run, or ""."""
    if outcome["not_run"] == "memory":
        return f"not run: needs {outcome['needs'] / GIB:.1f} GiB"
    return str(outcome["not_run"] or "")
