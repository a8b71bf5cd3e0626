"""Tasks of experiments: load, split, fit and score, for nodes, graphs and links."""

import copy
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Generic, Literal, Self, TypeVar

import torch
from torch import Tensor

from s2gnn.data import Dataset, GraphCollection, collection_graphs, dataset_graph, load_collection, load_dataset
from s2gnn.data.construction import diffused
from s2gnn.data.splits import Split, dataset_split, fold_split
from s2gnn.devices import CPU
from s2gnn.errors import InputError, NonFiniteLossError
from s2gnn.experiments.experiment import Experiment
from s2gnn.graphs import DisjointUnion, Graph
from s2gnn.learning import ALONE, Checkpoint, FitResult, Group, History, fit, predict_logits, seeded
from s2gnn.learning.classical import CLASSICAL, make_classical
from s2gnn.learning.metrics import accuracy, macro_f1, mean_roc_auc
from s2gnn.links import LinkPredictor, LinkSplit, fit_links, score_links, split_links
from s2gnn.nn import GraphClassifier, GraphNetwork
from s2gnn.nn.inputs import NetworkInput
from s2gnn.operators import GraphOperator

# Features and operator as a network takes them.
Prepared = tuple[NetworkInput, GraphOperator | None]


@dataclass(frozen=True)
class Run:
    """The result of one seed.

    Attributes:
        seed: random seed of the run.
        metrics: scores by name.
        seconds: training time.
        error: error of a failed trial; `None` for a successful run.
    """

    seed: int
    metrics: dict[str, float]
    seconds: float
    error: str | None = None


@dataclass(frozen=True, eq=False)
class Fitted:
    """A trained seed of an experiment, with its training data."""

    seed: int
    result: FitResult

    @property
    def validation(self) -> float:
        """The validation score of the selected epoch: ROC-AUC for several labels or links, otherwise accuracy."""
        history = self.result.history
        return (history.val_auc or history.val_accuracy)[self.result.best_epoch]


FittedT = TypeVar("FittedT", bound=Fitted)


class Task(ABC, Generic[FittedT]):
    """Base class of tasks: the data of an experiment, and the methods to run it.

    Attributes:
        experiment: the experiment.
        device: device on which networks are trained.
    """

    experiment: Experiment
    device = CPU

    def with_experiment(self, experiment: Experiment) -> Self:
        """Return the same task and data with other hyperparameters or another protocol."""
        other = copy.copy(self)
        other.experiment = experiment
        other.__dict__.pop("inputs", None)  # they depend on the hyperparameters
        return other

    @abstractmethod
    def fit(self, seed: int, *, on_epoch: Callable[[int], None] | None = None) -> FittedT:
        """Train with one seed on its training set; the test set is not used."""

    @abstractmethod
    def score(self, fitted: FittedT) -> dict[str, float]:
        """Return the scores on the test and validation sets by name."""

    def run(self, seed: int) -> Run:
        """Train and score one seed."""
        fitted = self.fit(seed)
        return Run(seed, self.score(fitted), fitted.result.seconds)

    def trial(self, seed: int) -> Run:
        """Train one seed of a search and score it on its validation set.

        A configuration that cannot be trained has score 0 and its error, except if the loss is not finite. Errors of
        the machine (memory, files) are raised, because the same configuration may succeed later.
        """
        start = time.perf_counter()
        try:
            fitted = self.fit(seed)
        except Exception as error:
            if _of_the_machine(error):
                raise
            text = None if isinstance(error, NonFiniteLossError) else f"{type(error).__name__}: {error}"
            return Run(seed, {"validation": 0.0, "epoch": 0.0}, time.perf_counter() - start, text)
        scores = {"validation": float(fitted.validation), "epoch": fitted.result.best_epoch}
        return Run(seed, scores, fitted.result.seconds)


def _of_the_machine(error: Exception) -> bool:
    """Return whether an error is due to the machine: out of memory, or a file that could not be used."""
    no_memory = isinstance(error, RuntimeError) and "allocate memory" in str(error)
    return no_memory or isinstance(error, MemoryError | OSError | torch.OutOfMemoryError)


@dataclass(frozen=True, eq=False)
class Trained(Fitted):
    """A trained seed of a classification task.

    Attributes:
        split: split of the nodes or graphs.
        network: network with the selected weights; `None` for a classical baseline.
        predict: function that computes the logits.
    """

    split: Split
    network: GraphNetwork | None
    predict: Callable[[], Tensor]

    @cached_property
    def logits(self) -> Tensor:
        """Of all nodes or graphs, (N, C)."""
        return self.predict()


class Classification(Task[Trained]):
    """Classification of nodes or graphs, with one or several labels each.

    Attributes:
        experiment: the experiment.
        data: the data set, or the collection of graphs.
        graph: the graph of the data set, or the disjoint union of the collection.
    """

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.data: Dataset | GraphCollection
        self.graph: Graph | DisjointUnion
        if experiment.task == "graphs":
            self.data, self.graph = collection_graphs(load_collection(experiment.data), experiment.graph)
        else:
            self.data, self.graph = dataset_graph(load_dataset(experiment.data), experiment.graph, experiment.k)

    def split(self, seed: int) -> Split:
        """Return the nodes or graphs of one seed, or of one fold."""
        if self.experiment.protocol.folds is not None:
            return fold_split(self.data.y, seed, self.experiment.protocol.folds)
        return dataset_split(self.data, seed, self.experiment.share)

    def new_network(self) -> GraphNetwork:
        """Return a network for this data."""
        return self.experiment.new_network(self.data.x.shape[1], len(self.data.class_names)).to(self.device)

    @cached_property
    def inputs(self) -> Prepared:
        """Features and operator of the network, prepared once for all seeds."""
        with seeded(0):
            network = self.new_network()
        if isinstance(self.graph, DisjointUnion):
            assert isinstance(network, GraphClassifier)
            return network.prepare(self.data.x, self.graph)
        return network.prepare(self.data.x, self.graph)

    def fit(
        self,
        seed: int,
        *,
        prepare: Callable[[GraphNetwork], Prepared] | None = None,
        on_epoch: Callable[[int], None] | None = None,
        group: Group = ALONE,
        checkpoint: Checkpoint | None = None,
    ) -> Trained:
        """Train a new network; `prepare` creates its input if it is not the whole graph. Other arguments: see `fit`."""
        split, chosen = self.split(seed), self.experiment.hyperparameters
        score: Literal["accuracy", "auc"] = "auc" if self.data.several_labels else "accuracy"
        with seeded(seed):
            network = self.new_network()
        x, op = self.inputs if prepare is None else prepare(network)
        result = fit(
            network,
            x,
            op,
            self.data.y,
            split.train,
            split.val,
            config=self.experiment.protocol.fit_config(chosen.lr, chosen.weight_decay, score),
            seed=seed,
            on_epoch=on_epoch,
            group=group,
            checkpoint=checkpoint,
        )
        return Trained(seed, result, split, network, partial(predict_logits, network, x, op))

    def score(self, fitted: Trained) -> dict[str, float]:
        """Test and validation scores of the selected epoch; the number of training nodes and a learned ε, if any."""
        test, validation = fitted.split.test, fitted.validation
        y, logits = self.data.y[test], fitted.logits[test].cpu().numpy()
        if self.data.several_labels:
            metrics = {"test_roc_auc": mean_roc_auc(y, logits), "val_roc_auc": validation}
        else:
            predicted = logits.argmax(axis=1)
            metrics = {
                "test_accuracy": accuracy(y, predicted),
                "test_macro_f1": macro_f1(y, predicted),
                "val_accuracy": validation,
            }
        metrics["epoch"] = fitted.result.best_epoch
        if self.experiment.share is not None:
            metrics["train_nodes"] = len(fitted.split.train)
        if fitted.network is not None:
            for name, value in fitted.network.state_dict().items():
                if name.endswith("epsilon.log"):
                    metrics["epsilon"] = float(value.double().exp())
        return metrics


class ClassicalBaseline(Classification):
    """Classification by a classical baseline, such as label spreading; its scores replace logits."""

    def fit(self, seed: int, **_: Any) -> Trained:
        """Fit the baseline and predict every node."""
        split, method = self.split(seed), make_classical(self.experiment.model, **self.experiment.hyperparameters.model)
        assert isinstance(self.graph, Graph)
        start = time.perf_counter()
        scores = method.fit_predict(self.data.x, self.graph, self.data.y, split.train, seed)
        seconds = time.perf_counter() - start
        val_accuracy = accuracy(self.data.y[split.val], scores[split.val].argmax(axis=1))
        result = FitResult(History(val_accuracy=[val_accuracy]), 0, seconds)
        return Trained(seed, result, split, None, partial(torch.as_tensor, scores))


@dataclass(frozen=True, eq=False)
class TrainedLinks(Fitted):
    """A trained seed of link prediction."""

    split: LinkSplit
    predictor: LinkPredictor
    inputs: Prepared


class LinkPrediction(Task[TrainedLinks]):
    """Link prediction, with a new split and operator for each seed."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.data = load_dataset(experiment.data)

    def fit(self, seed: int, *, on_epoch: Callable[[int], None] | None = None) -> TrainedLinks:
        """Train a new predictor on the training edges or their diffusion."""
        if self.data.graph is None:
            raise InputError(f"{self.data.name} has no given graph, but links are predicted in one")
        split, chosen = split_links(self.data.graph, seed), self.experiment.hyperparameters
        with seeded(seed):
            predictor = self.experiment.new_predictor(self.data.x.shape[1]).to(self.device)
        graph = diffused(split.graph) if self.experiment.graph == "diffusion" else split.graph
        x, op = predictor.prepare(self.data.x, graph)
        config = self.experiment.protocol.fit_config(chosen.lr, chosen.weight_decay, "auc")
        result = fit_links(predictor, x, op, split, config=config, seed=seed, on_epoch=on_epoch)
        return TrainedLinks(seed, result, split, predictor, (x, op))

    def score(self, fitted: TrainedLinks) -> dict[str, float]:
        """Return ROC-AUC, average precision and hits on the test pairs."""
        scores = score_links(fitted.predictor, *fitted.inputs, fitted.split.test)
        return {
            "test_roc_auc": scores.roc_auc,
            "test_average_precision": scores.average_precision,
            **{f"test_hits@{k}": share for k, share in scores.hits.items()},
            "val_roc_auc": fitted.validation,
            "epoch": fitted.result.best_epoch,
        }


def load_task(experiment: Experiment, device: torch.device = CPU) -> Task[Any]:
    """Create the task of an experiment: load its data, and build its graph or read it from the cache."""
    kind = ClassicalBaseline if experiment.model in CLASSICAL else Classification
    task: Task[Any] = LinkPrediction(experiment) if experiment.task == "links" else kind(experiment)
    task.device = device
    return task
