"""Mathematics on graphs and operators: spectrum, conditioning, stability."""

from s2gnn.analysis.conditioning import Conditioning, conditioning
from s2gnn.analysis.kronecker import KroneckerForm, kronecker_form
from s2gnn.analysis.spectrum import Penalisation, penalisation
from s2gnn.analysis.stability import StabilityBound, laplacian_bound, noise, perturbation, stability_bound

__all__ = [
    "Conditioning",
    "KroneckerForm",
    "Penalisation",
    "StabilityBound",
    "conditioning",
    "kronecker_form",
    "laplacian_bound",
    "noise",
    "penalisation",
    "perturbation",
    "stability_bound",
]
