import os
import pickle
import zipfile
from collections import OrderedDict

import numpy as np
import pytest
import scipy.sparse as sp

from s2gnn import InputError
from s2gnn.data.planetoid import PICKLED, read_planetoid, unpickle_arrays


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_original_files_give_exactly_the_arrays_of_the_data_folder(data_folder, name):
    with zipfile.ZipFile(data_folder / "citation" / "planetoid_raw.zip") as archive:
        arrays = read_planetoid({part: archive.read(f"ind.{name}.{part}") for part in (*PICKLED, "test.index")})
    with np.load(data_folder / "citation" / f"{name}.npz", allow_pickle=False) as expected:
        assert set(arrays) == set(expected.files)
        for key, array in arrays.items():
            assert array.dtype == expected[key].dtype
            assert np.array_equal(array, expected[key]), key


class Malicious:
    """Unpickling calls os.mkdir."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_malicious_pickle_calls_nothing(tmp_path, protocol):
    content = pickle.dumps([1, Malicious(tmp_path / "made")], protocol)
    with pytest.raises(InputError, match=r"the pickle requests (posix|nt)\.mkdir, which is not an array"):
        unpickle_arrays(content)
    assert not (tmp_path / "made").exists()
    pickle.loads(content)
    assert (tmp_path / "made").exists()  # the pickle does call it elsewhere


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(OrderedDict()),
        pickle.dumps(np.float64(1.0)),
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"c__builtin__\neval\n(S'1'\ntR.",
        b"cnumpy\nfromfile\n(S'/etc/hostname'\ntR.",
        b"\x80\x04\x8c\x05numpy\x8c\x0endarray.tofile\x93.",
        b"cscipy.sparse\nload_npz\n.",
    ],
)
def test_only_arrays_are_allowed(content):
    with pytest.raises(InputError, match="the pickle requests .* which is not an array"):
        unpickle_arrays(content)


def stored_csr(**state):
    """A pickle with SciPy's old name of csr_matrix and the given state."""
    whole = {
        "data": np.ones(1),
        "indices": np.zeros(1, np.int32),
        "indptr": np.array([0, 1], np.int32),
        "_shape": (1, 1),
    }
    body = pickle.dumps(whole | state, 3).replace(b"numpy._core", b"numpy.core")[2:-1]
    return b"\x80\x03cscipy.sparse.csr\ncsr_matrix\n)\x81" + body + b"b."


def test_matrices_are_checked():
    assert np.array_equal(unpickle_arrays(stored_csr()).toarray(), sp.csr_array([[1.0]]).toarray())
    for state in (
        {"indices": np.array([7], np.int32)},
        {"indptr": np.array([0, 9], np.int32)},
        {"_shape": (0, 0)},
        {"_shape": "no"},
        {"data": None},
    ):
        with pytest.raises(InputError, match="the pickle is damaged or is not a Planetoid file"):
            unpickle_arrays(stored_csr(**state))


@pytest.mark.parametrize("content", [b"", b"text", b"\x80\x02]q\x00(", pickle.dumps([1, 2, 3])[:-1]])
def test_damaged_pickles(content):
    with pytest.raises(InputError, match="the pickle is damaged"):
        unpickle_arrays(content)
