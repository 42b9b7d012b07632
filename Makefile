# `make demo` and `make test` work on a fresh machine: they create .venv and install what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= demo

.PHONY: demo test lint types bench clean

$(BIN)/diaghoi: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

demo: $(BIN)/diaghoi
	$(BIN)/diaghoi demo --out $(OUT)

test: $(BIN)/diaghoi
	$(BIN)/python -m pytest -n auto --cov --cov-fail-under=95

lint: $(BIN)/diaghoi
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The oracles and the plots become subpackages only when installed, so types are checked there.
types: $(BIN)/diaghoi
	rm -rf build/types
	$(BIN)/python -m pip install --quiet --no-deps --target build/types .
	cd build/types && ../../$(BIN)/mypy --config-file ../../pyproject.toml -p diaghoi

bench: $(BIN)/diaghoi
	$(BIN)/python tests/benchmarks/bench.py

clean:
	rm -rf $(VENV) build demo .pytest_cache .mypy_cache .ruff_cache .coverage
