import pytest

from s2gnn.search.addresses import storage_address, without_password


@pytest.mark.parametrize(
    ("storage", "address"),
    [
        ("search.db", "sqlite:///search.db"),
        ("/folder/search.db", "sqlite:////folder/search.db"),
        ("postgresql://me@host/x", "postgresql+psycopg://me@host/x"),
        ("postgres://me@host/x", "postgresql+psycopg://me@host/x"),
        ("postgresql+psycopg2://me@host/x", "postgresql+psycopg2://me@host/x"),
        ("mysql://me@host/x", "mysql://me@host/x"),
    ],
)
def test_an_address_names_its_driver(storage, address):
    assert storage_address(storage) == address


@pytest.mark.parametrize("installed", [{"psycopg2"}, {"psycopg", "psycopg2"}, set()])
def test_the_driver_is_one_that_is_installed(installed, monkeypatch):
    monkeypatch.setattr("s2gnn.search.addresses.find_spec", lambda name: name if name in installed else None)
    driver = "psycopg2" if installed == {"psycopg2"} else "psycopg"
    assert storage_address("postgresql://host/x") == f"postgresql+{driver}://host/x"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:secret@host/x", "postgresql://me:***@host/x"),
        ("--storage 'postgresql://me:se@cr:et@host/x' --data a", "--storage 'postgresql://me:***@host/x' --data a"),
        ("postgresql://host/x?password=secret&sslmode=require", "postgresql://host/x?password=***&sslmode=require"),
        ("postgresql://me@host:5432/x", "postgresql://me@host:5432/x"),
        ("search.db", "search.db"),
    ],
)
def test_a_password_is_never_shown(text, shown):
    assert without_password(text) == shown
