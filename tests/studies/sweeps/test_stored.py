from s2gnn.studies.budget import BUDGETS
from s2gnn.studies.sweeps.stored import SWEEPS, write_files
from tests.studies.sweeps.made_records import write

ALPHA = SWEEPS["alpha"]
SMOKE = BUDGETS["smoke"]


def test_numbers_and_pictures_are_written_from_the_records(tmp_path):
    assert write_files("alpha", tmp_path, SMOKE) == ()
    assert list(tmp_path.iterdir()) == []
    write(tmp_path, ALPHA, "har", "s2gnn", {1: [50.0], 2: [51.0]}, budget="smoke")
    assert write_files("alpha", tmp_path, SMOKE) == ("csv", "png", "svg")
    assert "smoke" in (tmp_path / "alpha.csv").read_text()
    assert (tmp_path / "alpha.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "alpha.svg").read_bytes()
    assert b"smoke, 1 seed" in svg
    write_files("alpha", tmp_path, SMOKE)
    assert (tmp_path / "alpha.svg").read_bytes() == svg


def test_smoke_does_not_replace_what_is_shown(tmp_path):
    write(tmp_path, ALPHA, "har", "s2gnn", {1: [90.0], 2: [91.0]})
    write(tmp_path, ALPHA, "har", "s2gnn", {1: [50.0], 2: [51.0]}, budget="smoke")
    write_files("alpha", tmp_path, SMOKE)
    assert "quick" in (tmp_path / "alpha.csv").read_text()
    assert "smoke" not in (tmp_path / "alpha.csv").read_text()
