# Every target sets up the virtual environment it needs: only Python (3.11 or later), make and git are assumed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed-dev
PLAIN  := $(VENV)/.installed

.PHONY: demo test test-long lint bench format constraints clean

demo: $(PLAIN)
	$(BIN)/tacit compare linucb joint-linucb joint-linucb:releases=tree \
	  --environment sphere --dim 5 --gap 0.1 --epsilon 1 --delta 1e-6 \
	  --horizon 200000 --rounds 200000 --trials 10 --seed 1 --output demo

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m "not long"

test-long: $(STAMP)
	$(BIN)/python -m pytest -n 2

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(STAMP)
	$(BIN)/python -m benchmarks

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Versions only, no addresses: what `make test` was last run with.
constraints: $(STAMP)
	$(BIN)/pip freeze --exclude-editable | grep -v '@' > constraints.txt

clean:
	rm -rf $(VENV) build dist demo tacit-compare tacit-reproduce

$(VENV)/pyvenv.cfg:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tacit needs Python 3.11 or later; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(PLAIN): pyproject.toml constraints.txt | $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	@touch $@

$(STAMP): pyproject.toml constraints.txt | $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(PLAIN)
