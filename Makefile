# Every target makes .venv by itself, with uv where it is installed, else with the interpreter's venv and pip.
# PYTHON=path/to/python picks the interpreter.

CANDIDATES := $(or $(PYTHON),python3 python3.13 python3.12 python3.11)
BIN := .venv/bin
STAMP := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help setup test lint types demo bench bench-tasks

help:
	@echo "make setup   install Skynet and its tools into .venv"
	@echo "make demo    improve an example prompt: a small model on this machine, no key; some minutes"
	@echo "make test    run the tests"
	@echo "make lint    run ruff"
	@echo "make types   run mypy in strict mode"
	@echo "make bench   run the benchmarks"
	@echo "make bench-tasks   run all engines on the benchmark tasks and print the table"

setup: $(STAMP)

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadgroup

lint: $(STAMP)
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy

demo: $(STAMP)
	$(BIN)/skynet demo

bench: $(STAMP)
	$(BIN)/python -m pytest tests/benchmarks -s

bench-tasks: $(STAMP)
	$(BIN)/python -m pytest tests/benchmarks/tasks -s -q

# A name on the PATH may be a launcher with nothing behind it, so each candidate is run, not only looked up.
$(STAMP): pyproject.toml constraints.txt
	@set -e; chosen=; \
	for name in $(CANDIDATES); do \
	  if "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then chosen=$$name; break; fi; \
	done; \
	if [ -z "$$chosen" ]; then \
	  echo "Skynet needs Python 3.11 or newer; tried: $(CANDIDATES). Install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python" >&2; \
	  exit 1; \
	fi; \
	echo "Installing into .venv with $$("$$chosen" --version)"; \
	if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --allow-existing --python "$$(command -v "$$chosen")" .venv; \
	  uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev]'; \
	else \
	  "$$chosen" -m venv .venv; \
	  $(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'; \
	fi
	@touch $(STAMP)
