#!/usr/bin/env bash
# Makes results/proteins-variants.jsonl, other ways to train on the human protein network than those of Table III. Stopped
# at any time, it resumes where it was.
set -euo pipefail
cd "$(dirname "$0")/.."
run() { .venv/bin/s2gnn study run --data ppi-human --records results/proteins-variants.jsonl --jobs 2 "$@"; }

for model in s2gnn cheby clustergcn gcn sgc mlp; do run --model "$model" --protocol fair-converged --seeds 3; done
for model in transformer supergat gat; do run --model "$model" --protocol fair-converged --seeds 1; done
run --model gcn --protocol fair --seeds 1 --set lr=0.001
run --model gcn --protocol fair --seeds 1 --set weight_decay=0.0005
run --model supergat --protocol fair --seeds 1 --set attention_loss=1
run --model supergat --protocol fair --seeds 1 --set attention_loss=0.1
