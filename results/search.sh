#!/usr/bin/env bash
# Short searches for the budget quick, one file of results/searches for each model and data set: the defaults and
# fifteen trials of TPE in the paper's space, two validation seeds. Interrupted at any time, it resumes; search.db keeps
# the trials.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p results/searches
search() { # data model protocol
  local out=results/searches/$1-$2.json
  [ -s "$out" ] && return
  .venv/bin/s2gnn study search --data "$1" --model "$2" --protocol "$3" --trials 16 --seeds 2 \
    --max-heads 2 --patience 100 --jobs 2 --storage search.db --json > "$out.part"
  mv "$out.part" "$out"
}

for data in cancer-b isolet 20news; do
  for model in gcn sign cheby mlp; do search $data $model fair; done
done
for data in cora citeseer; do
  for model in gcn sgc cheby mlp; do search $data $model fair-citation; done
done
search citeseer s2gnn fair-citation
for data in cancer-m har; do
  for model in gcn sign cheby mlp; do search $data $model fair; done
done
