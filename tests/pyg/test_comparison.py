"""The comparison with GCNConv names a test for each row."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_row_names_a_test_that_exists():
    page = (ROOT / "docs/howto/pyg-layer.md").read_text().split("## Compared with GCNConv")[1]
    rows = [line for line in page.splitlines() if line.startswith("|")][2:]
    assert len(rows) > 30
    for row in rows:
        feature, *_, test = (cell.strip() for cell in row.strip("|").split("|"))
        if feature == "TorchScript":  # which neither promises to keep
            assert test == ""
            continue
        file, name = re.fullmatch(r"`(\S+)::(\w+)`", test).groups()
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(), row
