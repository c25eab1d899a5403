# Two commands for a fresh machine with Python 3.11+, git and make:
#   make check   install, then run every theorem check
#   make test    install everything, then run the whole test suite
# The environment lives in .venv and is made again only when pyproject.toml changes.

PYTHON ?= python3
VENV   ?= .venv
# A CPU build is enough for the tests. With a GPU: make test TORCH='torch>=2.5'
TORCH  ?= torch==2.13.0
WORKERS ?= 2

BIN := $(VENV)/bin

.PHONY: check test lint format bench clean

check: $(VENV)/.core
	$(BIN)/nodebudget check

test: $(VENV)/.full
	$(BIN)/python -m pytest -n $(WORKERS)

lint: $(VENV)/.full
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf $(VENV)/typed
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --target $(VENV)/typed .
	cd $(VENV)/typed && MYPYPATH=. $(abspath $(BIN))/mypy --config-file $(abspath pyproject.toml) -p nodebudget

format: $(VENV)/.full
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.core
	$(BIN)/python -m nodebudget.experiments.bench_lp

clean:
	rm -rf $(VENV) build *.egg-info

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

# torch comes first: installed as a requirement of another package it would be the build with CUDA.
$(VENV)/.full: pyproject.toml | $(VENV)/.core
	$(BIN)/python -m pip install --quiet '$(TORCH)'
	$(BIN)/python -m pip install --quiet --editable '.[llm,dev]'
	touch $@
