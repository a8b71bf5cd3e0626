"""Rows as the study of noisy edges stores them, with numbers that a test gives."""

NOISES = (("weights", 20.0), ("weights", 5.0), ("dropped", 0.5), ("added", 0.1), ("added", 0.5))


def noise_row(model, lost=0.01, clean=0.9, data="cancer-b", source="standard"):
    """Two networks that lose `lost` under the last noise of each kind, a tenth of it under the others."""
    noises = [
        {
            "kind": kind,
            "level": level,
            "accuracies": [[clean - (lost if level in (5.0, 0.5) else lost / 10)] * 3] * 2,
            "changes": [[lost] * 3] * 2,
            "flips": [[0.1] * 3] * 2,
        }
        for kind, level in NOISES
    ]
    return {"data": data, "model": model, "source": source, "clean": [clean] * 2, "noises": noises}


def published_row(shares, noisy, trained, without, lost=0.02, **others):
    """S2-GNN whose branches contribute `shares`, `noisy` under noise and `trained` where trained with it.

    It has the accuracies `without` each branch.
    """
    row = noise_row("s2gnn-published", lost, source="published", **others)

    def entry(kind, level, found):
        return {"kind": kind, "level": level, "contributions": [[found] * 2] * 2, "without": [without] * 2}

    row["branches"] = [entry(None, None, shares), *(entry(*noise, noisy) for noise in NOISES)]
    row["trained_on"] = [{**entry(*noise, trained), "accuracies": [0.88, 0.9]} for noise in NOISES]
    return row


def noise_content(*rows):
    """The content of a record."""
    return {
        "protocol": "fair",
        "budget": "standard",
        "training_seeds": [1, 2],
        "noise_seeds": [0, 1, 2],
        "rows": list(rows),
    }
