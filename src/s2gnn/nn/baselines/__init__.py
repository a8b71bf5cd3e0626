"""The baselines and the two ablations of S2-GNN."""
