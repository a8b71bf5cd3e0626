#!/usr/bin/env bash
# Makes results/reproduction.jsonl, from which docs/reproduction.md is written. Interrupted at any time, it resumes.
set -euo pipefail
cd "$(dirname "$0")/.."
run() { .venv/bin/s2gnn study run --records results/reproduction.jsonl --jobs 2 "$@"; }

# S2-GNN on k-NN graphs with the published hyperparameters, the epsilon of Cancer-B swept over the search range
for epsilon in 1.5 0.5 1.0 2.0; do
  run --data cancer-b --protocol released --seeds 50 --set epsilon=$epsilon
done
# Cora with diffusion; the hyperparameters were searched on validation seeds (docs/reproduction.md). With the fusion
# left at its random start, as in the released code, and trained
for protocol in released-citation fair-citation; do
  run --data cora --protocol $protocol --seeds 20 --set alpha=1 --set epsilon=0.5 --set fusion=linear \
    --set hidden_channels=64 --set dropout=0.7 --set lr=0.01 --set weight_decay=0.001
done
run --data 20news --protocol released --seeds 50

# Every other model on Cancer-B
for protocol in released fair; do
  for model in s2gnn mlp gcn sgc sign cheby clustergcn no-hadamard regular-sobolev gat transformer supergat gatv2; do
    run --data cancer-b --model $model --protocol $protocol --seeds 5
  done
done

# S2-GNN on the other k-NN graphs
for data in isolet har cancer-m; do
  run --data $data --protocol released --seeds 50
done
