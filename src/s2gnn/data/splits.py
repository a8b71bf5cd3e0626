"""Splits into training, validation and test sets: the paper's, random ones, and folds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedKFold, train_test_split

from s2gnn.data.dataset import Dataset, GraphCollection
from s2gnn.errors import InputError

DEVELOPMENT_SEED = 1684992425
VALIDATION_SEEDS = (4258031807, 3829679737, 3706579387, 789594926, 3628091752)
TEST_SEEDS = (
    2406525885, 3164031153, 1454191016, 1583215992, 765984986,
    258270452, 3808600642, 292690791, 2492579272, 1660347731,
    902096533, 1295255868, 3887601419, 2250799892, 4099160157,
    658822373, 1105377040, 1822472846, 2360402805, 2355749367,
    2291281609, 1241963358, 3431144533, 623424053, 78533721,
    1819244826, 1368272433, 555336705, 1979924085, 1064200250,
    256355991, 125892661, 4214462414, 2173868563, 629150633,
    525931699, 3859280724, 1633334170, 1881852583, 2776477614,
    1576005390, 2488832372, 2518362830, 2535216825, 333285849,
    109709634, 2287562222, 3519650116, 3997158861, 3939456016,
)  # fmt: skip

CITATION_NETWORKS = ("cora", "citeseer", "pubmed")
CITATION_DEVELOPMENT = 1500
CITATION_PER_CLASS = 20
DEVELOPMENT_SHARE = 0.55
TRAINING_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Split:
    """Disjoint node indices (int64) for training, validation and testing."""

    train: NDArray[np.int64]
    val: NDArray[np.int64]
    test: NDArray[np.int64]


def paper_split(
    y: ArrayLike, seed: int, *, n_dev: int | None = None, per_class: int | None = None, share: float | None = None
) -> Split:
    """Return the split of the paper's experiments for one seed.

    A development set, the same for every seed, is drawn from all nodes; the rest, in increasing order, is the test set.
    The seed draws the training nodes from the development set; its other nodes are the validation set.

    Args:
        y: labels (N,), integers in 0..C-1.
        seed: one of `VALIDATION_SEEDS` when hyperparameters are chosen, of `TEST_SEEDS` when they are tested.
        n_dev: size of the development set; default: int(0.55 N); the citation networks have 1,500.
        per_class: number of training nodes of each class, drawn class by class; the citation networks have 20. By
            default, int(0.1 N) nodes are drawn at once.
        share: train on the first int(share · N) nodes of the permutation whose first int(0.1 N) nodes the paper uses,
            and on the first node of every missing class. Training sets of smaller shares are subsets of those of larger
            ones.
    """
    labels = _integer_labels(y)
    n = len(labels)
    n_dev = int(DEVELOPMENT_SHARE * n) if n_dev is None else n_dev
    if not 0 < n_dev < n:
        raise InputError(f"n_dev is {n_dev}, but a development set of {n} nodes has 1..{n - 1}")
    development = np.random.RandomState(DEVELOPMENT_SEED).choice(n, n_dev, replace=False)
    draw = np.random.RandomState(seed)
    if share is not None:
        if per_class is not None:
            raise InputError(f"per_class is {per_class} and share is {share:g}: give one of them")
        if not 0 < share < n_dev / n:
            raise InputError(f"share is {share:g}, but it must lie between 0 and {n_dev / n:g}, the development set")
        order = draw.permutation(development)
        _, first_of_class = np.unique(labels[order], return_index=True)
        train = order[np.union1d(np.arange(int(share * n)), first_of_class)]
    elif per_class is None:
        train = draw.choice(development, int(TRAINING_SHARE * n), replace=False)
    else:
        members = [development[labels[development] == c] for c in range(int(labels.max()) + 1)]
        for c, nodes in enumerate(members):
            if len(nodes) < per_class:
                raise InputError(
                    f"class {c} has {len(nodes)} nodes in the development set, but per_class is {per_class}: lower it "
                    "or raise n_dev"
                )
        train = np.concatenate([draw.choice(nodes, per_class, replace=False) for nodes in members])
    val = development[~np.isin(development, train)]
    if len(train) == 0 or len(val) == 0:
        raise InputError(f"{n} nodes are too few: there would be {len(train)} training and {len(val)} validation nodes")
    return Split(train, val, np.setdiff1d(np.arange(n), development))


def _integer_labels(y: ArrayLike) -> NDArray[np.integer]:
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise InputError(f"y has shape {labels.shape} and dtype {labels.dtype}, expected integer labels (N,)")
    return labels


def dataset_split(dataset: Dataset | GraphCollection, seed: int, share: float | None = None) -> Split:
    """Return the split of a named data set for one seed: the paper's, or 60/20/20 if a row may have several labels.

    The graphs of a collection are split like the nodes of a constructed graph. Rows without a label are excluded. Where
    the paper draws the training nodes by share, `share` replaces its share, see `paper_split`.
    """
    if share is not None and (dataset.several_labels or dataset.name in CITATION_NETWORKS):
        raise InputError(f"share is {share:g}, but the training nodes of {dataset.name} are not drawn by share")
    if dataset.several_labels:
        return random_split(np.flatnonzero(dataset.labelled), seed, test_seed=DEVELOPMENT_SEED)
    if dataset.name in CITATION_NETWORKS:
        split = paper_split(dataset.y, seed, n_dev=CITATION_DEVELOPMENT, per_class=CITATION_PER_CLASS)
    else:
        split = paper_split(dataset.y, seed, share=share)
    return Split(*(part[dataset.labelled[part]] for part in (split.train, split.val, split.test)))


def random_split(
    nodes: int | ArrayLike, seed: int, shares: Sequence[float] = (0.6, 0.2, 0.2), test_seed: int | None = None
) -> Split:
    """Return nodes in random order, divided by shares; by default, 60 % train, 20 % validate and 20 % test.

    Args:
        nodes: the number N of nodes, or the indices of those to split, for example the annotated proteins.
        seed: draws the order.
        shares: of training, validation and test nodes; they add up to 1.
        test_seed: draws the test nodes, so that they are the same for every `seed` and never used to choose
            hyperparameters with other seeds, as in `paper_split`; default: `seed`.
    """
    if len(shares) != 3 or min(shares) <= 0 or abs(sum(shares) - 1) > 1e-9:
        raise InputError(f"shares is {tuple(shares)}, but it must be three positive numbers that add up to 1")
    order = np.random.RandomState(seed if test_seed is None else test_seed).permutation(nodes)
    n_train, n_val = (round(share * len(order)) for share in shares[:2])
    development, test = np.split(order, [n_train + n_val])
    if test_seed is not None:
        development = np.random.RandomState(seed).permutation(development)
    train, val = np.split(development, [n_train])
    if min(len(train), len(val), len(test)) == 0:
        raise InputError(f"{len(order)} nodes are too few to be split into shares of {tuple(shares)}")
    return Split(train, val, test)


def fold_split(y: ArrayLike, fold: int, folds: int = 10) -> Split:
    """Return one fold of a stratified cross-validation with a validation part, as Errica et al. (2020) split graphs.

    Every graph is tested in one of the folds. A stratified tenth of the graphs outside a fold is for validation, the
    others for training. The folds are the same in every call and for all models.

    Args:
        y: labels (G,), integers; each class has at least `folds` members.
        fold: index of the fold, 0..folds-1.
        folds: number of folds.
    """
    labels = _integer_labels(y)
    if not 0 <= fold < folds:
        raise InputError(f"fold is {fold}, but the folds are 0..{folds - 1}")
    classes, counts = np.unique(labels, return_counts=True)
    if counts.min() < folds:
        rare = int(counts.argmin())
        raise InputError(f"class {classes[rare]} has {counts[rare]} members, but {folds} folds need one each")
    parts = StratifiedKFold(folds, shuffle=True, random_state=0).split(labels, labels)
    rest, test = list(parts)[fold]
    tenth = max(len(classes), math.ceil(len(rest) / 10))
    train, val = train_test_split(rest, test_size=tenth, stratify=labels[rest], random_state=0)
    return Split(train, val, test)
