# Every target sets up the virtual environment it needs: only Python (3.11 or later), make and git are assumed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed-dev
PLAIN  := $(VENV)/.installed

PEERS  := .venv-peers

.PHONY: demo test test-long mutants lint bench bench-peers bench-serve docs format constraints clean

demo: $(PLAIN)
	$(BIN)/tacit frontier joint-linucb --environment table --data digits --measure reward \
	  --epsilons 0.3,1,3,10 --rounds 20000 --trials 3 --seed 2 --report demo/digits
	@echo
	$(BIN)/tacit frontier joint-linucb local-linucb --environment sphere --dim 5 --gap 0.1 \
	  --epsilons 0.3,1,3,10,30 --rounds 20000 --trials 5 --seed 1 --report demo/sphere

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m "not long"

test-long: $(STAMP)
	$(BIN)/python -m pytest -n 2

# Slips in what privacy rests on, tried one by one on a copy of the sources: each must make its tests fail.
mutants: $(STAMP)
	$(BIN)/python -m tests.mutants --write docs/results/mutants.md

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# Other libraries have pins of their own: they get an environment of their own.
bench-peers: $(PEERS)/.installed
	$(PEERS)/bin/python -m benchmarks.peers --write docs/results/peers.md

bench-serve: $(STAMP)
	$(BIN)/python -m benchmarks.serve

docs: $(STAMP)
	$(BIN)/python docs/make_site.py site

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Versions only, no addresses: what `make test` was last run with.
constraints: $(STAMP)
	$(BIN)/pip freeze --exclude-editable | grep -v '@' > constraints.txt

clean:
	rm -rf $(VENV) $(PEERS) build dist site demo tacit-compare tacit-frontier tacit-reproduce tacit-sweep

$(VENV)/pyvenv.cfg:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tacit needs Python 3.11 or later; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(PLAIN): pyproject.toml constraints.txt | $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	@touch $@

$(STAMP): pyproject.toml constraints.txt | $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(PLAIN)

$(PEERS)/.installed: pyproject.toml constraints.txt benchmarks/peers/requirements.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	$(PEERS)/bin/python -m benchmarks.peers.install
	@touch $@
