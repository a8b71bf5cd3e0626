import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2gnn import InputError
from s2gnn.data import Dataset
from s2gnn.data.splits import TEST_SEEDS, VALIDATION_SEEDS, dataset_split, fold_split, paper_split, random_split


def citation_split_as_released(y, seed):
    """Line by line from the description of the released code, with lists and without our names."""
    rnd_state = np.random.RandomState(1684992425)
    development = list(rnd_state.choice(len(y), 1500, replace=False))
    test = [i for i in range(len(y)) if i not in set(development)]
    rnd_state = np.random.RandomState(seed)
    train = []
    for c in range(max(y) + 1):
        of_class = [i for i in development if y[i] == c]
        train += list(rnd_state.choice(of_class, 20, replace=False))
    val = [i for i in development if i not in set(train)]
    return train, val, test


def constructed_split_as_released(n, seed):
    rnd_state = np.random.RandomState(1684992425)
    development = list(rnd_state.choice(n, int(0.55 * n), replace=False))
    test = [i for i in range(n) if i not in set(development)]
    train = list(np.random.RandomState(seed).choice(development, int(0.1 * n), replace=False))
    return train, [i for i in development if i not in set(train)], test


def as_lists(split):
    return [list(part) for part in (split.train, split.val, split.test)]


@pytest.mark.parametrize("seed", [VALIDATION_SEEDS[0], TEST_SEEDS[0], TEST_SEEDS[-1]])
def test_the_papers_splits(seed):
    y = np.random.default_rng(0).integers(7, size=2485)
    split = paper_split(y, seed, n_dev=1500, per_class=20)
    assert as_lists(split) == list(citation_split_as_released(y, seed))
    assert (len(split.train), len(split.val), len(split.test)) == (140, 1360, 985)
    y = np.arange(1250) % 2
    split = paper_split(y, seed)
    assert as_lists(split) == list(constructed_split_as_released(1250, seed))
    assert (len(split.train), len(split.val), len(split.test)) == (125, 562, 563)


def test_the_test_set_is_the_same_for_every_seed_and_seeds_are_published_ones():
    y = np.arange(200) % 3
    splits = [paper_split(y, seed) for seed in TEST_SEEDS[:5]]
    assert all(np.array_equal(split.test, splits[0].test) for split in splits)
    assert len({tuple(split.train) for split in splits}) == 5
    assert len(set(TEST_SEEDS)) == 50
    assert len(set(VALIDATION_SEEDS)) == 5
    assert not set(TEST_SEEDS) & set(VALIDATION_SEEDS)
    assert sum(TEST_SEEDS) == 94459348960
    assert sum(VALIDATION_SEEDS) == 16211977609


def test_random_split_cuts_a_permutation():
    split = random_split(1003, seed=5)
    order = np.random.RandomState(5).permutation(1003)
    assert as_lists(split) == [list(order[:602]), list(order[602:803]), list(order[803:])]
    chosen = np.arange(50, 90)
    assert sorted(np.concatenate(as_lists(random_split(chosen, seed=1)))) == list(chosen)


def dataset(name, y, labelled=None):
    marks = np.ones(len(y), dtype=bool) if labelled is None else labelled
    return Dataset(name, np.zeros((len(y), 1)), y, ("a",), None, "made up", marks)


def test_each_data_set_has_its_kind_of_split():
    y = np.random.default_rng(0).integers(7, size=2485)
    assert as_lists(dataset_split(dataset("cora", y), 3)) == list(citation_split_as_released(y, 3))
    assert as_lists(dataset_split(dataset("isolet", y), 3)) == list(constructed_split_as_released(2485, 3))
    labelled = np.arange(2485) % 5 > 0
    parts = as_lists(dataset_split(dataset("cora", y, labelled), 3))
    assert parts == [[i for i in part if i % 5] for part in citation_split_as_released(y, 3)]
    several = dataset("ppi-human", np.zeros((2485, 3), dtype=int), labelled)
    first, second = (dataset_split(several, seed) for seed in (3, 4))
    assert sorted(np.concatenate(as_lists(first))) == list(np.flatnonzero(labelled))
    assert [len(part) for part in as_lists(first)] == [1193, 398, 397]
    assert np.array_equal(first.test, second.test)
    assert not np.array_equal(first.train, second.train)
    assert not np.isin(first.test, np.concatenate([second.train, second.val])).any()


@given(
    n=st.integers(40, 300),
    n_classes=st.integers(2, 12),
    seed=st.integers(0, 2**32 - 1),
    shares=st.lists(st.floats(0.01, 0.5), min_size=2, max_size=2).map(sorted),
)
def test_training_sets_of_a_share_are_nested_have_every_class_and_leave_the_test_set(n, n_classes, seed, shares):
    y = np.random.default_rng(seed).integers(n_classes, size=n)
    paper = paper_split(y, seed)
    development = np.concatenate([paper.train, paper.val])
    classes = np.unique(y[development])
    smaller, larger = (paper_split(y, seed, share=share) for share in shares)
    assert set(smaller.train) <= set(larger.train)
    for share, split in zip(shares, (smaller, larger), strict=True):
        drawn = int(share * n)
        assert drawn <= len(split.train) <= drawn + len(classes)
        assert len(np.unique(split.train)) == len(split.train)
        np.testing.assert_array_equal(np.unique(y[split.train]), classes)
        np.testing.assert_array_equal(split.test, paper.test)
        assert sorted([*split.train, *split.val]) == sorted(development)
        # The paper's draw, at its own share and, as far as it goes, at any other.
        common = min(drawn, len(paper.train))
        np.testing.assert_array_equal(split.train[:common], paper.train[:common])


def test_the_papers_share_is_the_papers_split_where_every_class_is_drawn():
    y = np.arange(1250) % 2
    for seed in TEST_SEEDS[:5]:
        assert as_lists(paper_split(y, seed, share=0.1)) == as_lists(paper_split(y, seed))
        by_share = dataset_split(dataset("isolet", y), seed, share=0.02)
        assert as_lists(by_share) == as_lists(paper_split(y, seed, share=0.02))
        assert len(by_share.train) == 25


@pytest.mark.parametrize("classes", [2, 6, 12])
def test_folds_are_stratified_and_test_every_graph_once(classes):
    y = np.random.default_rng(0).permutation(np.arange(20 * classes) % classes)
    folds = [fold_split(y, fold) for fold in range(10)]
    assert sorted(np.concatenate([split.test for split in folds])) == list(range(len(y)))
    for fold, split in enumerate(folds):
        assert sorted([*split.train, *split.val, *split.test]) == list(range(len(y)))
        for part, of_each in ((split.test, 2), (split.val, 2)):
            assert abs(np.bincount(y[part], minlength=classes) - of_each).max() <= 1
        assert as_lists(split) == as_lists(fold_split(y, fold))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paper_split(np.zeros(10), 0), "expected integer labels"),
        (lambda: paper_split(np.zeros((10, 2), int), 0), r"y has shape \(10, 2\)"),
        (lambda: paper_split(np.zeros(10, int), 0, n_dev=10), "n_dev is 10, but a development set of 10 nodes"),
        (lambda: paper_split(np.zeros(5, int), 0), "5 nodes are too few: there would be 0 training"),
        (lambda: paper_split(np.arange(60) % 3, 0, per_class=20), "class 0 has .* nodes .* per_class is 20: lower it"),
        (lambda: paper_split(np.arange(60) % 3, 0, share=0.6), "share is 0.6, .* between 0 and 0.55"),
        (lambda: paper_split(np.arange(60) % 3, 0, share=0.0), "share is 0, .* between 0 and 0.55"),
        (lambda: paper_split(np.arange(60) % 3, 0, share=0.2, per_class=2), "per_class is 2 and share is 0.2"),
        (lambda: dataset_split(dataset("cora", np.arange(60) % 3), 0, share=0.2), "of cora are not drawn by share"),
        (lambda: random_split(100, 0, shares=(0.6, 0.2)), "three positive numbers"),
        (lambda: random_split(100, 0, shares=(0.6, 0.6, -0.2)), "three positive numbers"),
        (lambda: random_split(2, 0), "2 nodes are too few"),
        (lambda: fold_split(np.arange(60) % 3, 10), r"fold is 10, but the folds are 0\.\.9"),
        (lambda: fold_split(np.arange(60) % 9, 0), "class 6 has 6 members, but 10 folds need one each"),
        (lambda: fold_split(np.zeros(60), 0), "expected integer labels"),
    ],
)
def test_unusable_splits(call, message):
    with pytest.raises(InputError, match=message):
        call()
