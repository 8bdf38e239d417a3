# Each target sets up what it needs; nothing has to be done by hand before it.
PYTHON ?= python3
BIN := .venv/bin
STACK ?= dev
PYTEST_ARGS ?=
# Two workers a processor (tests/workers.py), but no more rehearsals at once than 16 GB hold.
PYTEST = $(BIN)/pytest -n auto --maxprocesses 4

.DEFAULT_GOAL := help
.PHONY: help up down unit test test-full faults check bench docs generate record lock setup tools schedulers browser

# Everything here starts Python often; modules are compiled once.
unexport PYTHONDONTWRITEBYTECODE
# What the theme says of its own next version.
export NO_MKDOCS_2_WARNING := 1

MAKEFLAGS += --no-print-directory

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

up: setup ## Set up everything and rehearse the dev stack (STACK=NAME for another one)
	@$(BIN)/dra-fleet rehearse up $(STACK)

down: setup ## Stop the rehearsal and everything it started
	@$(BIN)/dra-fleet rehearse down

unit: setup ## Run the quick tests, without engine, browser and builds: a minute
	@$(BIN)/pytest -n logical -m "not engine and not browser and not full and not checks and not slow" $(PYTEST_ARGS)

test: setup tools browser ## Run all tests but the very long ones
	@$(PYTEST) -m "not full" $(PYTEST_ARGS)

test-full: setup tools schedulers browser ## Run all tests
	@$(PYTEST) $(PYTEST_ARGS)

faults: setup tools schedulers ## Inject every fault; the outcomes are in build/faults.json
	@$(BIN)/pytest -q -p no:randomly tests/faults --faults build/faults.json $(PYTEST_ARGS)

check: setup ## Check format, lint, types and import contracts, then run the tests
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/pyright
	@$(BIN)/lint-imports --no-logo
	@$(MAKE) test PYTEST_ARGS='-m "not full and not checks" $(PYTEST_ARGS)'

bench: setup tools ## Run the benchmarks; at the end every ratio beside its goal (PAGE=FILE writes tables too)
	@PYTHONPATH=bench $(BIN)/python -m twins.run_all $(if $(PAGE),--markdown $(PAGE))

docs: setup ## Make the documentation's site in build/site
	@$(BIN)/mkdocs build

generate: setup ## Write every file that is made from the code, and the golden files of tests
	@PYTHONPATH=. $(BIN)/python scripts/generate.py
	@$(PYTEST) -q --write-golden

record: setup tools ## Record what NVIDIA's own driver publishes for every machine (needs gcc or clang)
	@PYTHONPATH=. $(BIN)/python scripts/record.py
	@PYTHONPATH=. $(BIN)/python scripts/record_labels.py
	@PYTHONPATH=. $(BIN)/python scripts/record_prepared.py

lock: setup ## Renew the locks of all requirements from the pins
	@$(BIN)/python scripts/lock.py

setup:
	@PYTHON=$(PYTHON) scripts/setup.sh

tools: setup
	@$(BIN)/dra-fleet rehearse tools --all >/dev/null

# Tests, benchmarks and recordings run what is built: the same everywhere.
tools schedulers bench record faults: export DRA_FLEET_TOOLS = build

schedulers: setup
	@$(BIN)/dra-fleet rehearse tools --minors >/dev/null

browser: setup
	@$(BIN)/python scripts/browser.py
