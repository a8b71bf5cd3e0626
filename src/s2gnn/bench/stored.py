"""Random graphs too large to be made anew for every run: made once, then read as CSR arrays from the cache folder."""

import io
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from s2gnn.bench.workloads import random_edges
from s2gnn.data import cache_folder
from s2gnn.files import write_atomically

ARRAYS = ("data", "indices", "indptr")  # the pointers are written last: where they are, the others are complete


def stored_csr(nodes: int, edges: int) -> Path:
    """The folder of the stored random graph, made at the first call: 8 bytes for each direction of an edge."""
    folder = cache_folder() / "bench" / f"random-{nodes}-{edges}"
    if not (folder / "indptr.npy").is_file():
        pairs, weights = random_edges(nodes, edges)
        ends = pairs.T.astype(np.int32)
        del pairs
        upper = sp.coo_array((weights.astype(np.float32), ends), shape=(nodes,) * 2).tocsr()
        both = upper + upper.T.tocsr()
        for name in ARRAYS:
            buffer = io.BytesIO()
            np.save(buffer, getattr(both, name))
            write_atomically(folder / f"{name}.npy", buffer.getvalue())
    return folder


def load_csr(folder: Path) -> sp.csr_array:
    """The stored matrix, its arrays mapped from the files."""
    data, indices, indptr = (np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in ARRAYS)
    return sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1,) * 2)
