"""Try an installed s2gnn, away from its sources: the kernel that was built, a layer, the estimator, the command line.

Needs nothing but the installed package. S2GNN_EXPECT_KERNEL=native makes a build without the native kernel an error.
"""

import os
import subprocess
import sys

import numpy as np
import torch
from sklearn.datasets import load_wine

import s2gnn
from s2gnn.operators import kernel


def main() -> None:
    """Raise an AssertionError if anything is wrong."""
    print(f"s2gnn {s2gnn.__version__}, torch {torch.__version__}, kernel {kernel.chosen()}")
    assert "site-packages" in s2gnn.__file__, f"{s2gnn.__file__} is not the installed package"
    assert os.environ.get("S2GNN_EXPECT_KERNEL") != "native" or kernel.chosen() != "torch", "the kernel was not built"

    X, y = load_wine(return_X_y=True)
    graph = s2gnn.knn_graph((X - X.mean(axis=0)) / X.std(axis=0), k=10)
    op, x = s2gnn.SobolevOperator(graph, alpha=3), torch.rand(len(y), 5)
    expected = torch.stack([torch.tensor(op.matrix(rho) @ x.double().numpy()) for rho in (1, 2, 3)])
    torch.testing.assert_close(op.propagate(x).double(), expected, rtol=1e-5, atol=1e-6)

    known = np.arange(len(y)) % 10 == 0
    classifier = s2gnn.S2GNNClassifier(random_state=0).fit(X, np.where(known, y, -1))
    accuracy = np.mean((classifier.transduction_ == y)[~known])
    assert accuracy > 0.9, accuracy

    command = [sys.executable, "-m", "s2gnn.cli", "--version"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == s2gnn.__version__
    print(f"accuracy on wine {accuracy:.3f}")


if __name__ == "__main__":
    main()
