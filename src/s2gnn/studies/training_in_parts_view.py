"""Training in parts as a table, as sentences about S2-GNN, and as a picture."""

from collections.abc import Mapping
from statistics import mean
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from s2gnn.learning.metrics import bootstrap_confidence
from s2gnn.pictures import PALETTE, bare
from s2gnn.render import Block, Cell, Table

OURS = "S2-GNN"
MIB = 2**20


def _by_data(content: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in content["rows"]:
        found.setdefault(row["data"], []).append(row)
    return found


def _means(row: Mapping[str, Any], name: str) -> float:
    return float(mean(run[name] for run in row["runs"]))


def lay_out_parts(content: Mapping[str, Any]) -> Table:
    """A block for each data set, a row for each network and division."""
    header = (
        "network",
        "batches",
        "degrees of",
        "evaluated on",
        "weight cut (%)",
        "test accuracy (%)",
        "peak memory (MiB)",
        "seconds an epoch",
        "epochs",
    )
    blocks = tuple(Block(data, tuple(map(_line, rows))) for data, rows in _by_data(content).items())
    patience = "" if content["patience"] is None else f", stopped after {content['patience']} without a better score"
    note = (
        f"Means over {content['seeds']} of the paper's test seeds, ± the 95 % half-width; at most {content['epochs']} "
        f"epochs{patience} (protocol {content['protocol']}), hyperparameters as in Table III, but for "
        f"{_ours(content)}. Accuracy on the test nodes of the whole graph. Memory: the peak of the resident memory "
        "above that of the process with graph and features in it, while the network is prepared, trained and "
        "validated; every run has a process of its own. "
        f"Threads: {content['threads']}, kernel: {content['kernel']}."
    )
    return Table("", header, blocks, (*_findings(content), note))


def _ours(content: Mapping[str, Any]) -> str:
    """What S2-GNN has instead: the memory is for so many powers."""
    values = next(row["hyperparameters"]["model"] for row in content["rows"] if row["network"] == OURS)
    return f"α = {values['alpha']} and the {values['fusion']} fusion of {OURS}"


def _line(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    division = row["division"]
    score = bootstrap_confidence([run["test_accuracy"] for run in row["runs"]])
    divided = division["batches"] != "whole"
    texts = (
        row["network"],
        division["title"],
        division["degrees"] if divided else "–",
        f"the {division['evaluate']}" if division["evaluate"] == "whole" else "parts",
        f"{100 * _means(row, 'cut'):.1f}" if division["batches"] in ("metis", "random") else "–",
        f"{100 * score.mean:.2f} ± {100 * score.half_width:.2f}",
        f"{_means(row, 'bytes') / MIB:,.0f}",
        f"{mean(run['seconds'] / run['epochs'] for run in row['runs']):.3f}",
        f"{_means(row, 'epochs'):.0f}",
    )
    return tuple(map(Cell, texts))


def _findings(content: Mapping[str, Any]) -> tuple[str, ...]:
    """For each data set: S2-GNN in parts beside S2-GNN on the whole graph, and the most accurate of all."""
    sentences = []
    for data, rows in _by_data(content).items():
        ours = [row for row in rows if row["network"] == OURS]
        whole, *divided = ours
        least = min(divided, key=lambda row: _means(row, "bytes"))
        best = max(divided, key=lambda row: _means(row, "test_accuracy"))
        top = max(rows, key=lambda row: _means(row, "test_accuracy"))
        sentences.append(
            f"{data}: S2-GNN on the whole graph has {_score(whole)} and takes {_mib(whole)}. The most accurate in "
            f"parts ({_title(best)}) has {_score(best)} and takes {_mib(best)}; the least memory, {_mib(least)}, take "
            f"{_title(least)}, with {_score(least)}. Of all rows the most accurate is {top['network']}, "
            f"{_title(top)}."
        )
    return tuple(sentences)


def _score(row: Mapping[str, Any]) -> str:
    return f"{100 * _means(row, 'test_accuracy'):.2f} %"


def _mib(row: Mapping[str, Any]) -> str:
    return f"{_means(row, 'bytes') / MIB:,.0f} MiB"


def _title(row: Mapping[str, Any]) -> str:
    division = row["division"]
    degrees = f", degrees of the {division['degrees']}" if division["batches"] != "whole" else ""
    return f"{division['title']}{degrees}"


_MARKERS = {"whole": "*", "metis": "o", "random": "x", "sampled": "^"}


def draw_parts(content: Mapping[str, Any]) -> Figure:
    """Accuracy over memory, a panel for each data set; colours for networks, marks for the kind of batch."""
    data = _by_data(content)
    figure = Figure(figsize=(7.2, 3.8 * len(data)), layout="constrained")
    networks = dict.fromkeys(row["network"] for row in content["rows"])
    colours = dict(zip(networks, ("black", PALETTE[0], PALETTE[4], PALETTE[2]), strict=False))
    for axes, (name, rows) in zip(figure.subplots(len(data), 1, squeeze=False)[:, 0], data.items(), strict=True):
        for number, row in enumerate(rows, 1):
            division = row["division"]
            filled = division["degrees"] == "whole" or division["batches"] == "random"
            place = _means(row, "bytes") / MIB, 100 * _means(row, "test_accuracy")
            colour = colours[row["network"]]
            axes.plot(
                *place,
                _MARKERS[division["batches"]],
                color=colour,
                markerfacecolor=colour if filled else "white",
                markersize=11 if division["batches"] == "whole" else 7,
                linestyle="none",
                label=f"{number}  {row['network']}, {_title(row)}",
            )
            axes.annotate(str(number), place, xytext=(5, 4), textcoords="offset points", fontsize=8)
        axes.set(xlabel="peak memory of training (MiB)", ylabel="test accuracy (%)", title=name, xscale="log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.margins(0.12)
        axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
        bare(axes)
    return figure
