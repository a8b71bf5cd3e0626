import pytest

from tests.documents.pages import Block, shows

PRINTED = "first\naccuracy 0.93, 1,797 rows\ntook 1 min 40 s\nsize 447 MiB at most\nlast\n"


@pytest.mark.parametrize(
    ("shown", "same"),
    [
        ("accuracy 0.93, 1,797 rows", True),
        ("accuracy  0.95, 1,797 rows", True),
        ("accuracy 0.83, 1,797 rows", False),
        ("accuracies 0.93, 1,797 rows", False),
        ("took 3 s", True),
        ("took 3 rows", False),
        ("size 2.5 GiB at most", True),
        ("size 2.5 GiB", False),
        ("first\nlast", True),
        ("last\nfirst", False),
        ("first\nfirst", False),
    ],
)
def test_shown_output_is_printed_output(shown, same):
    assert shows(Block("text", shown, 1, None, False), PRINTED) == same


@pytest.mark.parametrize(
    ("shown", "same"), [("size 447 MiB at most", True), ("size 600 MiB at most", False), ("took 2 min 40 s", False)]
)
def test_what_is_computed_is_compared_too(shown, same):
    assert shows(Block("text", shown, 1, None, True), PRINTED) == same
