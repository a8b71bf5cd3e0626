"""The measures on hidden labels in words: what they say of this model, and how to read them."""

import numpy as np
from scipy.stats import binomtest

from s2gnn.report.comparison import CONSTANT, Comparison, Method
from s2gnn.report.content import Content
from s2gnn.report.held_out import Calibration, Residuals, commonest_mistakes
from s2gnn.report.words import FEW, Words, counted, listed, percent, points

CHANCE = 0.05
WELL_CALIBRATED = 0.05
MOST_IN_MATRIX = 30  # classes; of more, the commonest mistakes are listed


def of_answers(content: Content) -> Words:
    """How many hidden labels were predicted right, and which were mistaken for which."""
    if content.residuals is not None:
        return _of_residuals(content.residuals)
    if content.confusion is None or content.comparison is None or content.subject.classes is None:
        return _not_measured(content)
    counts, classes = content.confusion, content.subject.classes
    ours = content.comparison.methods[0]
    n, right = int(counts.sum()), int(np.trace(counts))
    said = f"Of {counted(n, 'label')} that were hidden from it, it predicted {right:,} right ({percent(ours.score)})."
    span = f"from {percent(ours.low)} to {percent(ours.high)}"
    if n < FEW:
        said += f" With so few, that says little: on other rows it may be anything {span}."
    else:
        said += (
            f" On other rows like those expect {span}, or a little more, since the model that is kept learned from all "
            "labels."
        )
    for true, taken, count in commonest_mistakes(counts, 1):
        times = "twice" if count == 2 else f"{count:,} times"
        said += (
            " No mistake occurs twice."
            if count == 1
            else f" Its commonest mistake: “{classes[true]}” taken for “{classes[taken]}”, {times}."
        )
    reading = (
        "Each line is a true class, each column a predicted one. Green cells are right; a red one counts labels of one "
        "class that were taken for another."
    )
    if len(classes) > MOST_IN_MATRIX:
        reading = "Each line is a mistake: labels of one class that were taken for another, the commonest first."
    key = f"{right:,} of {n:,} right" if n < FEW else f"{percent(ours.score)} right"
    return Words(key, said, reading)


def _of_residuals(found: Residuals) -> Words:
    n, mean = len(found.truth), float(found.errors.mean())
    said = (
        f"Of {counted(n, 'value')} that were hidden from it, half were predicted to within {found.typical:.3g} and "
        f"nine of ten to within {found.usual:.3g}; the values themselves range from {found.truth.min():.4g} to "
        f"{found.truth.max():.4g}."
    )
    if n < FEW:
        said += " With so few, these figures are rough."
    elif abs(mean) > 2 * float(found.errors.std()) / np.sqrt(n):
        said += f" On average it is too {'high' if mean > 0 else 'low'}, by {abs(mean):.3g}."
    return Words(
        f"half within {found.typical:.3g}",
        said,
        "Each point is a hidden value. On the dashed line it is predicted right; the farther above or below, the "
        "larger the error.",
    )


def _not_measured(content: Content) -> Words:
    evidence = content.subject.evidence
    if evidence is None:
        why = "This folder keeps no labels. Fit the table again with s2gnn fit to have this measured."
    elif content.subject.classes is not None and np.sum(np.bincount(evidence.targets) >= 2) < 2:
        why = "There are too few labels to hide some and predict them: label two rows or more in each of two classes."
    elif len(evidence.targets) < 4:
        why = "There are too few known values to hide some and predict them: four or more are needed."
    else:
        why = "No labels were hidden, because that was not asked for: fit the table again without --folds 0."
    return Words(
        "not measured",
        why,
        "Rows that a model has learned from say nothing about others. With hidden labels this page also shows whether "
        "simpler methods do as well.",
    )


def of_calibration(content: Content) -> Words:
    """Whether its probabilities can be taken at their word."""
    found = content.calibration
    if found is None:
        return _not_measured(content)
    n = int(found.counts.sum())
    stated = found.stated
    right = float(np.average(found.right, weights=found.counts))
    by_chance = binomtest(round(right * n), n, min(stated, 1.0)).pvalue >= CHANCE
    said = (
        f"Of the {counted(n, 'hidden label')} the model says on average that it is {percent(stated)} sure, and it is "
        f"right in {percent(right)} of these cases"
    )
    small, worst = abs(found.excess) <= WELL_CALIBRATED, _worst_bin(found)
    if by_chance and (not small or n < FEW):
        key = "too early to tell"
        verdict = f"but among {n:,} a difference of {points(stated, right)} may be chance"
    elif by_chance and worst:
        key, verdict = "on average, yes", "so that its probabilities are right on average"
    elif by_chance:
        key, verdict = "yes", "so that its probabilities can be taken at their word"
    else:
        direction = "too sure" if found.excess > 0 else "too modest"
        key = f"a little {direction}" if small else direction
        verdict = f"so that it is {key}, by {points(stated, right)}"
    return Words(
        key,
        f"{said}, {verdict}.{worst}",
        "Each point stands for hidden labels of which the model was about equally sure; the vertical line shows what "
        "chance allows. On the dashed line it is right as often as it says, below it is too sure, above too modest.",
    )


def _worst_bin(found: Calibration) -> str:
    """The probability that chance explains least, if any is off by more than it explains among so many.

    Bins whose probabilities read alike are one here: a sentence speaks of all rows of which the model says so.
    """
    stated = np.array([percent(float(said)) for said in np.clip(found.said, 0.0, 1.0)])
    shares, chances = {}, {}
    for text in dict.fromkeys(stated.tolist()):
        alike = stated == text
        counts = found.counts[alike]
        shares[text] = float(np.average(found.right[alike], weights=counts))
        said = min(float(np.average(found.said[alike], weights=counts)), 1.0)
        chances[text] = binomtest(round(shares[text] * int(counts.sum())), int(counts.sum()), said).pvalue
    worst = min(chances, key=lambda text: chances[text])
    if len(chances) < 2 or chances[worst] >= CHANCE / len(chances):
        return ""
    return (
        f" Where it says {worst}, it is right in {percent(shares[worst])} of the cases, which chance does not explain."
    )


def of_comparison(content: Content) -> Words:
    """What the network on the graph is worth beside simpler methods."""
    found = content.comparison
    if found is None:
        return _not_measured(content)
    ours, *others = found.methods
    scores = listed([f"{_named(method)} {_score(method, found)}" for method in others])
    if found.classifies:
        said = f"Of the same {counted(found.n, 'hidden label')}, S2-GNN predicts {_score(ours, found)} right, {scores}."
    else:
        said = f"On the same {counted(found.n, 'hidden value')}, S2-GNN errs by {_score(ours, found)}, {scores}."
    rivals = [method for method in others if method.name != CONSTANT]
    clear = [method for method in rivals if method.p is not None and method.p < CHANCE]
    better = [_named(method) for method in clear if _beats(ours, method, found)]
    worse = [_named(method) for method in clear if not _beats(ours, method, found)]
    level = [_named(method) for method in rivals if method not in clear]
    if better:
        said += f" S2-GNN is better than {listed(better)} by more than chance explains."
    if worse:
        said += f" It is worse than {listed(worse)} by more than chance explains: take the simpler method."
    if level:
        said += f" The difference to {listed(level)} may be chance."
    key = "no clear difference"
    if worse or better:
        key = "a simpler method wins" if worse else f"beats {better[0] if level else 'both'}"
    reading = (
        "Dots are the scores, lines what chance allows. The MLP, a small neural network, sees every row by itself, "
        "without the graph; label spreading sees the graph, without the columns; the last one gives the commonest "
        "answer to every row."
    )
    if not found.classifies:
        reading = (
            "Dots are the mean errors, lines what chance allows; farther to the left is better. The MLP, a small "
            "neural network, sees every row by itself, without the graph; label spreading averages known values "
            "along the graph, without the columns; the last one gives the same value, the median, to every row."
        )
    return Words(key, said, reading)


def _beats(ours: Method, other: Method, found: Comparison) -> bool:
    return (ours.score > other.score) == found.classifies


def _named(method: Method) -> str:
    return {"MLP": "an MLP", CONSTANT: "one answer for every row"}.get(method.name, method.name)


def _score(method: Method, found: Comparison) -> str:
    return percent(method.score) if found.classifies else f"{method.score:.3g}"
