from s2gnn.experiments.figures.headline import headline
from tests.experiments.test_table_result import FAIR, write, write_three_models


def test_the_headline_compares_on_the_seeds_that_all_models_have(tmp_path):
    folder = write_three_models(tmp_path)
    write(folder, "har", "s2gnn", FAIR, [90.0, 80.0, 10.0])
    write(folder, "har", "gcn", FAIR, [80.0, 85.0])
    write(folder, "har", "mlp", FAIR, [99.0, 99.0], budget="long")
    text = headline(folder)
    rows = {row.split(" | ")[0]: row.split(" | ") for row in text.splitlines() if row.startswith("| ")}
    har = rows["| accuracy (%)"].index("HAR")
    assert [rows[f"| {model}"][har] for model in ("S2-GNN", "GCN", "MLP")] == ["**85.0**", "82.5", "–"]
    assert "2 to 3 seeds common to all models, budget quick, commit abc." in text
