"""The networks that S2-GNN is compared with, and the two that take its Hadamard powers away."""
