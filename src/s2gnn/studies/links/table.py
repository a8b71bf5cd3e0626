"""The table of the study: which encoders, graphs and decoders on which data sets, from its packaged configuration."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

from s2gnn.data.catalogue import Kind, entry
from s2gnn.errors import InputError
from s2gnn.learning.hyperparameters import Value
from s2gnn.learning.protocol import FAIR
from s2gnn.links import DecoderName
from s2gnn.studies.budget import Budget
from s2gnn.studies.links.cell import LinkCell, make_link_cell
from s2gnn.studies.part import check_names


@dataclass(frozen=True)
class LinkRow:
    """One auto-encoder.

    Attributes:
        model: name of the encoder.
        graph: what it propagates on, the training edges ("given") or their diffusion.
        decoder: name of the decoder.
        values: hyperparameters of this row, beside those of the table.
        published: by data set and metric, what others printed for it, in %.
    """

    model: str
    graph: Kind
    decoder: DecoderName
    values: Mapping[str, Value] = field(default_factory=dict)
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The encoder, with the fusion of an S2-GNN."""
        fusion = self.values.get("fusion")
        return f"{self.model}, {fusion} fusion" if fusion else self.model

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from the other rows."""
        return self.title, self.graph, self.decoder


@dataclass(frozen=True)
class LinkTable:
    """Auto-encoders (rows) on data sets, with the hyperparameters that they share.

    Attributes:
        name: as on the command line.
        title: what it shows.
        paper: where in the paper.
        data: the data sets.
        channels: width of the embeddings.
        values: hyperparameters of every row.
        rows: in the order of the table.
    """

    name: str
    title: str
    paper: str
    data: tuple[str, ...]
    channels: int
    values: Mapping[str, Value]
    rows: tuple[LinkRow, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """The encoders in their order."""
        return tuple(dict.fromkeys(row.model for row in self.rows))

    def chosen(self, data: Sequence[str] | None = None, models: Sequence[str] | None = None) -> "LinkTable":
        """The part with these data sets and encoders, all if left out."""
        check_names(self.name, "data set", data, self.data)
        check_names(self.name, "model", models, self.models)
        return replace(
            self,
            data=tuple(name for name in self.data if name in (data or self.data)),
            rows=tuple(row for row in self.rows if row.model in (models or self.models)),
        )

    def cell(self, data: str, row: LinkRow, budget: Budget, seeds: int | None = None) -> LinkCell:
        """What to run for one place."""
        return make_link_cell(
            data,
            row.model,
            row.graph,
            row.decoder,
            protocol=replace(FAIR, epochs=budget.epochs, patience=budget.patience),
            changes={**self.values, **row.values},
            channels=self.channels,
            seeds=seeds or budget.seeds,
        )

    def cells(self, budget: Budget, seeds: int | None = None) -> Iterator[LinkCell]:
        """All that there is to run."""
        return (self.cell(data, row, budget, seeds) for data in self.data for row in self.rows)


def parse_links(text: str) -> LinkTable:
    """The table from its configuration in TOML, checked."""
    content: dict[str, Any] = tomllib.loads(text)
    rows = tuple(LinkRow(**row) for row in content.pop("rows"))
    table = LinkTable(**{**content, "data": tuple(content["data"]), "rows": rows})
    keys = [row.key for row in rows]
    if len(set(keys)) < len(keys):
        raise InputError(f"{table.name} has a row twice")
    for name in table.data:
        entry(name)
    return table


LINKS = parse_links((resources.files("s2gnn.studies.links") / "links.toml").read_text(encoding="utf-8"))
