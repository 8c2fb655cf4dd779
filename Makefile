# Every target does its own set-up in .venv on a fresh machine and repeats fast when it is already there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready-user
READY_DEV := $(VENV)/.ready-dev
READY_CLUSTER := $(VENV)/.ready-cluster
TESTS ?=
WORKERS ?= 2
MINUTES ?= 5
INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt $(PIP_FLAGS)
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.DEFAULT_GOAL := help
.PHONY: help quickstart test fuzz test-cluster torture check format docs bench clean

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Hatchel needs Python 3.11 or newer; name one with: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(READY): $(BIN)/python pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (once; a minute or two) ..."
	$(INSTALL) -e .
	@touch $@

$(READY_DEV): $(READY)
	@echo "Adding the tools for tests and checks to $(VENV) (once) ..."
	$(INSTALL) -e ".[dev]"
	@touch $@

$(READY_CLUSTER): $(READY_DEV)
	@echo "Adding Ray to $(VENV) and Slurm to this machine (once) ..."
	$(INSTALL) -e ".[dev,ray]"
	@command -v slurmd >/dev/null || [ -x /usr/sbin/slurmd ] || $(SUDO) apt-get install --yes --quiet --no-install-recommends slurmctld slurmd slurm-client munge
	@touch $@

quickstart: $(READY)  ## train, measure and picture a model on built-in data (a few minutes), report in runs/quickstart
	$(BIN)/hatchel quickstart

test: $(READY_DEV)  ## all tests, warnings as errors, doctests included; TESTS="-k mig" for some
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder $(TESTS)

fuzz: $(READY_DEV)  ## CASES=10000 wild arrays for the metrics and a quarter as many wild command lines, new ones every time
	HATCHEL_FUZZ=$(or $(CASES),10000) $(BIN)/python -m pytest --hypothesis-show-statistics tests/metrics/test_fuzz.py tests/cli/test_fuzz.py $(TESTS)

test-cluster: $(READY_CLUSTER)  ## studies on Ray and on a real Slurm started here (Debian; needs root or sudo, installs both)
	HATCHEL_TEST_CLUSTER=1 $(BIN)/python -m pytest tests/cluster $(TESTS)

torture: $(READY_DEV)  ## kills, damaged files, races and full disks for MINUTES=5; a table of tried and failed (docs/reliability.md)
	$(BIN)/python -c "from tests.torture import command; command()" --minutes $(MINUTES)

check: $(READY_DEV)  ## ruff, ruff format, pyright (strict on the package), import-linter (packages import only from those before them)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo

format: $(READY_DEV)  ## let ruff put things right
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY_DEV)  ## the documentation site in docs/_build/html; runs the tutorials, warnings are errors, inner links are checked
	TUTORIAL_STEPS=$(or $(STEPS),1000) $(BIN)/python -m sphinx -W --keep-going -n -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

bench: $(READY_DEV)  ## measure methods, precisions, compiled steps, the runner, large data, metrics and pythae (an hour), write docs/speed.md; ONLY=runner for one
	$(BIN)/python benchmarks/speed.py $(if $(ONLY),--only $(ONLY))

clean:  ## remove the environment and everything built
	rm -rf $(VENV) dist build runs docs/_build docs/methods docs/api docs/changelog.md docs/contributing.md .pytest_cache .ruff_cache
