import pytest

from s2gnn.tables.numbers import number_text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (123456.0, 4, "123456"),
        (0.1 + 0.2, 4, "0.3"),
        (-1.0, 4, "-1"),
        (181234.56, 4, "181235"),
        (-1780.4, 3, "-1780"),
        (1.5e15 + 0.5, 4, "1.5e+15"),
        (1.23456e-7, 3, "1.23e-07"),
    ],
)
def test_integers_are_shown_in_full_and_exponents_only_where_they_help(value, digits, text):
    assert number_text(value, digits) == text
