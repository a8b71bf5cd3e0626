"""Mathematics on graphs, operators and trained networks: spectrum, conditioning, stability, weights of branches."""

from s2gnn.analysis.branches import branch_contributions, branch_shares, branch_weights, without_branch
from s2gnn.analysis.conditioning import Conditioning, conditioning, is_definite
from s2gnn.analysis.edge_noise import (
    EdgeNoise,
    NoiseStability,
    added_edges,
    dropped_edges,
    edge_noise_stability,
    edge_noises,
    perturbed_weights,
)
from s2gnn.analysis.kronecker import KroneckerForm, kronecker_form
from s2gnn.analysis.spectrum import Penalisation, penalisation
from s2gnn.analysis.stability import StabilityBound, laplacian_bound, noise, perturbation, stability_bound

__all__ = [
    "Conditioning",
    "EdgeNoise",
    "KroneckerForm",
    "NoiseStability",
    "Penalisation",
    "StabilityBound",
    "added_edges",
    "branch_contributions",
    "branch_shares",
    "branch_weights",
    "conditioning",
    "dropped_edges",
    "edge_noise_stability",
    "edge_noises",
    "is_definite",
    "kronecker_form",
    "laplacian_bound",
    "noise",
    "penalisation",
    "perturbation",
    "perturbed_weights",
    "stability_bound",
    "without_branch",
]
