"""Benchmarks: ours and its alternatives in one run."""
