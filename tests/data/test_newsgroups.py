import io
import tarfile

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.data.newsgroups import GROUPS, read_posts, term_weights


def archive(path, posts):
    with tarfile.open(path, "w:gz") as tar:
        for name, text in posts.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))


def test_training_posts_of_the_ten_groups_in_order(tmp_path):
    path = tmp_path / "news.tar.gz"
    archive(
        path,
        {
            "20news-bydate-train/sci.space/2": b"moon",
            "20news-bydate-train/sci.space/1": b"caf\xe9",
            "20news-bydate-train/alt.atheism/1": b"another group",
            "20news-bydate-test/sci.space/3": b"of the test part",
            "20news-bydate-train/comp.graphics/9": b"From: me\n\npixels",
        },
    )
    texts, y = read_posts(path)
    assert texts == ["From: me\n\npixels", "café", "moon"]
    assert [GROUPS[group] for group in y] == ["comp.graphics", "sci.space", "sci.space"]


def test_archives_without_posts(tmp_path):
    path = tmp_path / "news.tar.gz"
    archive(path, {"readme": b""})
    with pytest.raises(InputError, match="has no posts in 20news-bydate-train"):
        read_posts(path)
    archive(path, {"20news-bydate-train/sci.space/1": np.random.default_rng(0).bytes(100_000)})
    path.write_bytes(path.read_bytes()[:50_000])
    with pytest.raises(InputError, match="is damaged or not 20news-bydate"):
        read_posts(path)


def test_the_real_archive(data_folder):
    texts, y = read_posts(data_folder / "news20" / "20news-bydate.tar.gz")
    assert np.bincount(y).tolist() == [584, 591, 590, 578, 594, 598, 595, 591, 594, 593]
    assert sum(text.startswith(("From:", "Subject:")) for text in texts) > 5_800  # with headers


def test_term_weights_are_those_of_the_formula():
    texts = ["the moon moon moon rises", "a red moon", "red red planet", "planet earth"]
    weights = term_weights(texts)
    terms = sorted({"moon", "rises", "red", "planet", "earth"})
    counts = np.array([[text.split().count(term) for term in terms] for text in texts])
    frequency = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0)
    rarity = np.log((1 + len(texts)) / (1 + (counts > 0).sum(axis=0))) + 1
    expected = frequency * rarity
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.allclose(weights.toarray(), expected)
