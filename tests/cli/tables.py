"""Tables that scikit-learn ships, written as a practitioner would have them."""

import numpy as np
from sklearn.datasets import load_diabetes, load_iris

IRIS = ("sepal length", "sepal width", "petal length", "petal width [cm]")


def iris_table(path, *, every=10, rows=slice(None)):
    """Iris with mixed columns: one number empty here and there, a category, row names; every tenth row is labelled."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[rows]
    lines = ["," + ",".join(IRIS) + ",size,species"]
    for place, row in enumerate(order):
        numbers = [f"{value}" for value in X[row]]
        if place % 9 == 4:
            numbers[1] = ""
        size = "large" if X[row, 0] > 6 else "small"
        species = ("setosa", "versicolor", "virginica")[y[row]] if place % every == 0 else ""
        lines.append(",".join([f"flower {row}", *numbers, size, species]))
    path.write_text("\n".join(lines) + "\n")
    return np.array(["setosa", "versicolor", "virginica"])[y[order]]


def diabetes_table(path):
    """200 patients of the diabetes table, the progression known for every second one."""
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:200], y[:200] + 0.5
    known = [f"{value}" if row % 2 else "" for row, value in enumerate(y)]
    lines = [",".join([*map(str, x), value]) for x, value in zip(X, known, strict=True)]
    path.write_text("\n".join([",".join(f"x{i}" for i in range(10)) + ",progression", *lines]) + "\n")
    return y
