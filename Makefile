# Two targets are all a newcomer needs: `make demo` and `make test`.
# Both build .venv once; afterwards they install nothing unless the requirements or the C++ sources changed.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

# The real data sets, when a copy lies next to this checkout.
ifeq ($(origin S2GNN_DATA), undefined)
  ifneq ($(wildcard ../shared/data),)
    export S2GNN_DATA := $(abspath ../shared/data)
  endif
endif

.PHONY: help demo test test-gpu test-loaders test-oldest wheels sanitize fuzz faults mutants lint format types docs clean

help:
	@echo "make demo         compare S2GNNClassifier with seven methods of scikit-learn on a table with few labels"
	@echo "make test         lint, types and tests"
	@echo "make test-gpu     test the GPU kernels: on a GPU if there is one, else in Triton's interpreter"
	@echo "make test-loaders test PyG's neighbour samplers, which need torch-sparse: compiling it takes 10 to 20 minutes"
	@echo "make fuzz         look for files that make a reader fail, with atheris; MINUTES=1 for each reader"
	@echo "make faults       kill running commands at random moments and compare their results: KILLS=100"
	@echo "make mutants      change the code of graphs and operators in random ways and count what the tests notice: MUTANTS=300"
	@echo "make sanitize     check the native kernels with AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make wheels       build the source distribution and the wheels into dist/, and try them in new environments"
	@echo "make test-oldest  test with the oldest versions of the dependencies"
	@echo "make docs         build the documentation site: build/site/index.html"
	@echo "make format       rewrite the code in the project's style"
	@echo "make clean        remove the environment and caches"

$(READY): pyproject.toml constraints.txt CMakeLists.txt $(wildcard src/s2gnn/operators/native/*)
	$(PYTHON) -m venv $(VENV)
	PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/pip install --quiet --constraint constraints.txt --editable '.[pyg,ann,search,postgresql,parts,ogb,docs,dev]'
	@touch $@

demo: $(READY)
	$(BIN)/s2gnn demo

# Two processes of one thread each: two threads in each would wait for one another.
test: lint types
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist worksteal

# Without a GPU the kernels run in Triton's interpreter, and are compiled for GPUs that need not be there.
test-gpu: $(READY)
	$(BIN)/python -c "import triton" 2>/dev/null || $(BIN)/pip install --quiet --constraint constraints.txt --no-deps triton
	$(if $(shell command -v nvidia-smi),,TRITON_INTERPRET=1) OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 tests/operators/test_gpu.py
	$(BIN)/pytest tests/bench/test_compiled.py

# Compiled against the installed PyTorch; there are no wheels for every release of it.
test-loaders: $(READY)
	$(BIN)/python -c "import torch_sparse" 2>/dev/null || $(BIN)/pip install --quiet --constraint constraints.txt --no-deps --no-build-isolation torch-scatter torch-sparse
	OMP_NUM_THREADS=1 $(BIN)/pytest tests/pyg

faults: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.random_kills --kills $(or $(KILLS),100)

# Runs in a copy, in build/mutation; on one core it takes hours.
mutants: $(READY)
	$(BIN)/python -c "import mutmut" 2>/dev/null || $(BIN)/pip install --quiet --constraint constraints.txt mutmut
	$(BIN)/python tests/mutation/sample_mutants.py --sample $(or $(MUTANTS),300)

# Not in the extra dev: atheris has wheels for some versions of Python only.
fuzz: $(READY)
	$(BIN)/python -c "import atheris" 2>/dev/null || $(BIN)/pip install --quiet --constraint constraints.txt --no-deps atheris
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --minutes $(or $(MINUTES),1)

sanitize: $(READY)
	.ci/sanitize

wheels:
	.ci/wheels

# Without the studies, pages and processes, which take most of the time and use the same packages.
OLDEST := build/oldest
test-oldest:
	rm -rf $(OLDEST)
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/pip install --quiet packaging
	$(OLDEST)/bin/python .ci/oldest.py > $(OLDEST)/constraints.txt
	PIP_DISABLE_PIP_VERSION_CHECK=1 $(OLDEST)/bin/pip install --quiet --constraint $(OLDEST)/constraints.txt '.[pyg,search,dev]'
	OMP_NUM_THREADS=1 $(OLDEST)/bin/pytest --numprocesses 2 --dist worksteal tests/analysis tests/cli tests/data tests/estimator tests/graphs tests/learning tests/nn tests/operators tests/pyg tests/tables

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY)
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --fresh-env docs build/site
	@echo "build/site/index.html"

clean:
	rm -rf $(VENV) build/site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
