# `make run` and `make test` do all their own set-up. Nothing here is clever.
PYTHON = .venv/bin/python

.PHONY: run test setup check unit system docs bench fuzz clean

run: setup
	$(PYTHON) -m testbed run $(ARGS)

test: setup check unit system

setup:
	@tools/setup.sh

check:
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

unit:
	$(PYTHON) -m pytest -n auto --dist worksteal -m "not guest and not browser"

system:
	$(PYTHON) -m pytest -m "guest or browser"

bench: setup
	$(PYTHON) -m tools.bench $(ARGS)

fuzz:
	$(PYTHON) -m tools.fuzz_inspect $(ARGS)

docs:
	$(PYTHON) -m tools.model_doc

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
