# Every target works on a fresh machine: it creates .venv and installs what it needs, and no more.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Most modules of the packages are never imported: those that are get compiled then, once, also
# where the environment asks for no bytecode, or else every process of the tests compiles them anew.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# uv takes a tenth of the time; where it cannot be had or reaches no index, pip installs.
INSTALL = { $(PIP) uv && $(BIN)/uv pip install --quiet --python $(BIN)/python $(1); } || $(PIP) $(1)
OUT ?= demo
# Files that `make fuzz` spoils, what they are drawn from, and what `make fuzz-guided` reads.
COUNT ?= 100000
SEED ?= 0
READER ?= triplet-lists
# How many mutants `make mutants` draws.
MUTANTS ?= 600

.PHONY: demo test test-all coverage lint types agreement faults golden fuzz fuzz-guided mutants bench bench-compare \
	pictures docs wheel oldest newest clean

# A tool of each set of packages stands for the set.
$(BIN)/diaghoi: pyproject.toml
	@echo "Installing diaghoi into $(VENV): NumPy, SciPy and Matplotlib take up to two minutes"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(call INSTALL,--editable .)
	@touch $@

$(BIN)/pytest: $(BIN)/diaghoi
	@echo "Installing what tests and checks need into $(VENV)"
	@$(call INSTALL,--editable '.[dev]')
	@touch $@

$(BIN)/sphinx-build: $(BIN)/pytest
	@echo "Installing what the site needs into $(VENV)"
	@$(call INSTALL,--editable '.[docs]')
	@touch $@

demo: $(BIN)/diaghoi
	@echo "Simulating 500 images and two detectors, and reporting on both"
	@$(BIN)/diaghoi demo --out $(OUT)
	@echo "The command is in $(BIN); to call it by its name: . $(BIN)/activate"

# Every rule, format, command and message, in minutes.
test: $(BIN)/pytest
	$(BIN)/python -m pytest -n auto -p no:randomly -m "not slow" $(ARGS)

# What `make test` leaves: processes, browsers, LaTeX, clusters, large inputs, the manual, all results
# as kept; and properties once more, on many examples. All in random order, whose seed is printed.
TIER ?= slow or property
test-all: $(BIN)/pytest
	$(BIN)/python -m pytest -n auto --dist worksteal -m "$(TIER)" --hypothesis-profile=many \
		--durations=25

# Which statements both tiers reach. This takes twice as long as the tests, so CI leaves it out.
coverage: $(BIN)/pytest
	$(BIN)/python -m pytest -n auto -p no:randomly -m "not slow" --cov
	$(BIN)/python -m pytest -n auto -m "slow or property" --hypothesis-profile=many --cov \
		--cov-append --cov-fail-under=99

# The oracles and the plots become subpackages only when installed, so imports and types are checked
# there. The folders are there to notice files that are gone.
build/plain: $(BIN)/pytest $(shell find diaghoi oracles plots -not -path '*__pycache__*')
	rm -rf $@ build/lib build/bdist.*
	@$(call INSTALL,--no-deps --target $@ .)
	touch $@

lint: build/plain
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd build/plain && ../../$(BIN)/lint-imports --config ../../pyproject.toml --no-cache

types: build/plain
	cd build/plain && ../../$(BIN)/mypy --config-file ../../pyproject.toml -p diaghoi

# A thousand random cases of each kind against slow, obvious references, and searches for slices with
# fifty seeds; minutes, not seconds.
agreement: $(BIN)/pytest
	DIAGHOI_CASES=1000 DIAGHOI_SEEDS=50 $(BIN)/python -m pytest -n auto tests/agreement \
		tests/statistics/test_slice_search.py

# Every command ended and disturbed at forty moments instead of two.
faults: $(BIN)/pytest
	DIAGHOI_MOMENTS=40 $(BIN)/python -m pytest -n auto tests/faults

# Random mutants of the code that decides numbers, and those that no fast test notices, in
# build/survivors.txt. ARGS="--again FILE tests/evaluation" tries mutants of such a file again, on
# some of the tests.
mutants: $(BIN)/pytest
	PYTHONPATH=tests $(BIN)/python -m support.mutants --count $(MUTANTS) --seed $(SEED) $(ARGS)

# All jobs at full size beside what they may cost. ARGS="report v-coco" measures some of them.
bench: $(BIN)/pytest
	$(BIN)/python tests/benchmarks/bench.py $(ARGS)

# The same jobs with another commit and with this tree, in turn: BASE=v0.1.0 ARGS="report --rounds 20"
bench-compare: build/plain
	$(BIN)/python tests/benchmarks/compare.py --base $(BASE) $(ARGS)

# The pictures of README and manual, which are kept in docs/pictures. Run it when a figure changes.
pictures: $(BIN)/pytest
	$(BIN)/python docs/pictures.py docs/pictures

# The site in build/docs; a warning is an error, and nothing is fetched.
docs: $(BIN)/sphinx-build
	rm -rf build/docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --fresh-env --quiet -b html docs build/docs

# A wheel of this tree in an empty environment, and what a new user does there. With PYTHON=python3.13
# for that version. What is left of other builds must not come along.
wheel:
	rm -rf build/wheel build/lib build/bdist.*
	$(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir build/wheel .
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/python -m pip install --quiet --no-compile build/wheel/*.whl
	build/wheel/venv/bin/python -I tests/installed.py build/wheel/tried

# The first tier in an environment of its own, with the lower bounds of all dependencies (oldest, for
# PYTHON=python3.10) or with the newest (for PYTHON=python3.13); with ARGS="tests/evaluation" some of it.
# Old packages warn of what their own dependencies deprecate.
oldest: RESOLUTION := lowest-direct
newest: RESOLUTION := highest
oldest newest:
	rm -rf build/$@
	$(PYTHON) -m venv build/$@
	build/$@/bin/python -m pip install --quiet --disable-pip-version-check uv
	build/$@/bin/uv pip install --quiet --python build/$@/bin/python --resolution $(RESOLUTION) \
		--editable '.[test]'
	build/$@/bin/python -m pytest -n auto -p no:randomly -m "not slow" \
		-W ignore::DeprecationWarning $(ARGS)

# All JSON results of the demo and the conformance cases, as kept in tests/golden/kept: numbers, and
# apart from them words. ARGS="--write words" keeps new titles, captions and notes; ARGS="--write all"
# also new numbers, where a change of numbers is meant.
golden: $(BIN)/pytest
	PYTHONPATH=tests $(BIN)/python -m golden $(ARGS)

# Spoilt files of every format; those that end in more than a message are kept in build/fuzz.
fuzz: $(BIN)/pytest
	PYTHONPATH=tests $(BIN)/python -m fuzz --count $(COUNT) --seed $(SEED) --out build/fuzz

# The same led by coverage, where atheris is installed.
fuzz-guided: $(BIN)/pytest
	PYTHONPATH=tests $(BIN)/python -m fuzz.guided $(READER)

clean:
	rm -rf $(VENV) build demo docs/generated .pytest_cache .mypy_cache .ruff_cache .coverage
