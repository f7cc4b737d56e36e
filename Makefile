# Every command a contributor or a pipeline needs. `make` alone lists them.
# PYTHON=… chooses the Python that .venv is made with; TESTS=… narrows `make test` and `make pytest`.

BIN := .venv/bin
EVERYTHING := OPSCONSOLE_TEST_EVERYTHING=1 $(BIN)/pytest --timeout=900 -n 2
TESTS ?= tests

.PHONY: help setup test lint types imports pytest coverage format demo bench simulate digests backends parity faults meetings profiles fuzz mutants generate lock newest wheel release clean

help: ## List the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

setup: ## Make .venv with everything in it; about a second when nothing changed
	@PYTHON="$(PYTHON)" scripts/python -I scripts/setup.py

test: setup ## Run every check and the whole test suite
	@$(MAKE) --no-print-directory --jobs=2 lint imports
	@$(MAKE) --no-print-directory --jobs=2 types pytest

lint: setup ## Check style and format
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: setup ## Check the types
	@$(BIN)/mypy

imports: setup ## Check that imports point downward
	@$(BIN)/lint-imports --no-logo

pytest: setup ## Run the tests in parallel
	@$(BIN)/python scripts/tests.py $(TESTS)

coverage: setup ## Measure lines and branches by the tests that run in the processes of pytest
	@$(BIN)/python scripts/tests.py --coverage

format: setup ## Format the code and fix what can be fixed
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

demo: setup ## Show the whole way on an emulated console: plan, deploy, drift, repair, destroy
	@$(BIN)/python examples/demo.py

bench: setup ## Print the table of measurements
	@$(BIN)/python -m benchmarks

simulate: setup ## Run seeded worlds: SEED=0 WORLDS=1000, or HOURS=… in place of WORLDS; LOGS=directory
	@$(BIN)/python tests/support/run_worlds.py --seed $(or $(SEED),0) --worlds $(or $(WORLDS),1000) $(if $(HOURS),--hours $(HOURS)) $(if $(LOGS),--logs $(LOGS))

digests: setup ## Write the digests of the worlds of make test again, after a change of what they show
	@$(BIN)/python tests/support/run_worlds.py --worlds 300 --digests tests/simulation/digests.txt

backends: setup ## Test every promise of a remote state on every backend and kind of lock
	@$(EVERYTHING) tests/backends

faults: setup ## Run every cell of the fault matrix: each operation, each fault, both engines
	@$(EVERYTHING) -m faults tests/faults

meetings: setup ## Run every generated meeting of two features, not the share that fits make test
	@$(EVERYTHING) -m meetings $(TESTS)

profiles: setup ## Run Terraform and the stand-in on every profile, and every real client
	@$(EVERYTHING) tests/settings/test_profiles.py tests/standin/test_real_clients.py::test_stacks_on_each_profile
	@$(EVERYTHING) -m real_client tests

parity: setup ## Compare thousands of random programs with Terraform
	@$(EVERYTHING) -m parity $(TESTS)

fuzz: setup ## Feed every reader of foreign input with mutations, FUZZ_SECONDS=60 each
	@$(BIN)/python scripts/fuzz.py

mutants: setup ## Plant single faults, one at a time, and name those that no test notices: SEED=0 MUTANTS=180
	@$(BIN)/python -m scripts.mutants --seed $(or $(SEED),0) --mutants $(or $(MUTANTS),180) $(TESTS:tests=)

generate: setup ## Write the generated constructs and reference pages again
	@$(BIN)/python -m scripts.generate

lock: setup ## Choose the newest dependencies that the bounds allow
	@scripts/lock

wheel: ## Build the wheel into dist/, without setup; pip fetches hatchling for it
	@PYTHON="$(PYTHON)" scripts/python -m pip --disable-pip-version-check wheel --no-deps --wheel-dir dist .

newest: setup ## Run the tests on the newest release of each dependency, above its bound too
	@scripts/newest $(TESTS)

release: setup ## Build wheel, provider archives, mirror and bills into dist/, and check them
	@$(BIN)/python -m scripts.release
	@echo "release: testing what is in dist/ (a few minutes)"
	@OPSCONSOLE_RELEASE=dist $(BIN)/pytest -q -n 2 --timeout=900 tests/release

clean: ## Remove what setup and the tests made
	rm -rf .venv node_modules build dist htmlcov .coverage* .pytest_cache .mypy_cache .ruff_cache
