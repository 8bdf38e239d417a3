# Each target sets up what it needs; nothing has to be done by hand before it.
PYTHON ?= python3
BIN := .venv/bin
STACK ?= dev
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help up down test test-full check bench lock setup tools browser

# Everything here starts Python often; modules are compiled once.
unexport PYTHONDONTWRITEBYTECODE

MAKEFLAGS += --no-print-directory

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

up: setup ## Set up everything and rehearse the dev stack (STACK=NAME for another one)
	@$(BIN)/dra-fleet rehearse up $(STACK)

down: setup ## Stop the rehearsal and everything it started
	@$(BIN)/dra-fleet rehearse down

test: setup tools browser ## Run all tests but the very long ones
	@$(BIN)/pytest -m "not full" $(PYTEST_ARGS)

test-full: setup tools browser ## Run all tests
	@$(BIN)/pytest $(PYTEST_ARGS)

check: setup ## Check format, lint, types and import contracts, then run the tests
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/pyright
	@$(BIN)/lint-imports --no-logo
	@$(MAKE) test PYTEST_ARGS="--deselect tests/test_quality.py::test_the_checks_find_nothing $(PYTEST_ARGS)"

bench: setup tools ## Run the benchmarks; each prints ratios
	@for bench in bench/*.py; do $(BIN)/python "$$bench" || exit 1; done

lock: setup ## Renew requirements.lock and requirements-dev.lock from the pins
	@$(BIN)/python scripts/lock.py

setup:
	@PYTHON=$(PYTHON) scripts/setup.sh

tools: setup
	@$(BIN)/python -m dra_fleet.rehearsal.tools --oracles >/dev/null

browser: setup
	@$(BIN)/python scripts/browser.py
