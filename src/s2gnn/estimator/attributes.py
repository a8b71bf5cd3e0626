"""Public attributes of a fitted estimator that it takes from its members."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.estimator.base_predictor import BasePredictor
from s2gnn.estimator.members import Members
from s2gnn.estimator.training_graph import Attachment
from s2gnn.graphs import Graph
from s2gnn.learning import History
from s2gnn.nn import S2GNN


class MemberAttributes:
    """Exposes the contents of `members_` as attributes, named by scikit-learn's convention."""

    members_: Members

    @property
    def graph_(self) -> Graph:
        """The graph of the training rows."""
        return self.members_.graph

    @property
    def attachment_(self) -> Attachment | None:
        """How new rows are joined to the graph; `None` if they cannot be."""
        return self.members_.attachment

    @property
    def base_(self) -> BasePredictor | None:
        """The base predictor; `None` for networks alone."""
        return None if self.members_.base is None else self.members_.base.predictor

    @property
    def column_weights_(self) -> NDArray[np.float64]:
        """Square roots of the importance of the columns, (M,); ones for networks alone."""
        base = self.members_.base
        return np.ones(self.members_.features.shape[1]) if base is None else base.column_weights

    @property
    def network_input_(self) -> Any:
        """The training rows as the networks see them, (N, inputs)."""
        return self.members_.network_input

    @property
    def networks_(self) -> tuple[S2GNN, ...]:
        """The trained networks."""
        return self.members_.trained.networks

    @property
    def history_(self) -> tuple[History, ...]:
        """The training history of each network."""
        return self.members_.trained.histories

    @property
    def kept_epochs_(self) -> tuple[int, ...]:
        """The epoch, counted from 0, whose weights each network has."""
        return self.members_.trained.kept_epochs

    @property
    def logits_(self) -> NDArray[np.float64]:
        """The networks' outputs for the training rows, (number of networks, N, outputs)."""
        return self.members_.trained.logits

    @property
    def smoothed_(self) -> NDArray[np.float64] | None:
        """The signal smoothed over the graph, (N, outputs); `None` for networks alone."""
        return self.members_.smoothed

    @property
    def predictions_(self) -> NDArray[np.float64]:
        """The members' predictions for the training rows, (members, N, answers)."""
        return self.members_.predictions
