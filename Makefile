# make demo   a real context from real documents, a conversation and memories
# make test   everything that has to hold before a change is merged
#
# Each needs Python 3.11 or newer and plain pip, and sets up the rest in this directory.
# PYTHON=/path/to/python chooses the interpreter.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= $(shell for candidate in python3 python3.13 python3.12 python3.11 python; do \
	$$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$candidate && break; done)
# The oldest allowed versions were built for the oldest allowed Python.
PYTHON_LOWEST ?= $(shell for candidate in $(PYTHON) python3.11; do \
	$$candidate -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null && echo $$candidate && break; done)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export HYPOTHESIS_PROFILE ?= ci
# Property tests run at full length once, in the development environment.
FEW_CASES := HYPOTHESIS_PROFILE=quick PACKLINE_CASES=20

INSTALL := -m pip install --quiet --no-compile

.PHONY: help demo test lint types unit wheel lowest constraints clean

help:
	@sed -n '1,6s/^# \{0,1\}//p' Makefile

# --- environments: each is marked as ready by a stamp, so that a second run starts at once ---

define require-python
@test -n "$(1)" || { echo "packline needs Python 3.11 or newer: install one, or name it with PYTHON=/path/to/python" >&2; exit 1; }
endef

.venv/bin/python:
	$(call require-python,$(PYTHON))
	$(PYTHON) -m venv .venv

.venv/.all: pyproject.toml constraints.txt | .venv/bin/python
	.venv/bin/python $(INSTALL) -c constraints.txt -e ".[all]"
	touch $@

.venv/.dev: pyproject.toml constraints.txt | .venv/bin/python
	.venv/bin/python $(INSTALL) -c constraints.txt -e ".[dev]"
	touch $@ .venv/.all

.venv-wheel/.test: pyproject.toml constraints.txt
	$(call require-python,$(PYTHON))
	$(PYTHON) -m venv --clear .venv-wheel
	.venv-wheel/bin/python $(INSTALL) -c constraints.txt ".[test]"
	touch $@

.venv-lowest/.test: pyproject.toml constraints-lowest.txt
	$(PYTHON_LOWEST) -m venv --clear .venv-lowest
	.venv-lowest/bin/python $(INSTALL) -c constraints-lowest.txt -e ".[test]"
	touch $@

# --- what to run ---

demo: .venv/.all
	.venv/bin/python examples/demo.py

# Two at a time, first of the environments, then of what runs in them; each one's output comes in one piece.
test:
	$(MAKE) --no-print-directory -j2 .venv/.dev .venv-wheel/.test $(if $(PYTHON_LOWEST),.venv-lowest/.test)
	$(MAKE) --no-print-directory -j2 --output-sync=target lint unit types wheel lowest

lint: .venv/.dev
	.venv/bin/ruff check
	.venv/bin/ruff format --check

types: .venv/.dev
	.venv/bin/mypy

unit: .venv/.dev
	.venv/bin/pytest

# The tests once more, against the built wheel: src/ is not importable here.
wheel: .venv/.dev .venv-wheel/.test
	rm -rf dist
	.venv/bin/python -m build --no-isolation --outdir dist . >/dev/null
	.venv-wheel/bin/python $(INSTALL) --no-deps --force-reinstall dist/*.whl
	$(FEW_CASES) PACKLINE_INSTALLED=wheel .venv-wheel/bin/pytest tests README.md --ignore=tests/test_notebooks.py

# And once more with the oldest versions that pyproject.toml allows, whose own warnings are no news.
ifneq ($(PYTHON_LOWEST),)
lowest: .venv-lowest/.test
	$(FEW_CASES) .venv-lowest/bin/pytest -W default tests --ignore=tests/test_notebooks.py
else
lowest:
	@echo "skipped: the lowest versions are tested on Python 3.11, and none was found" >&2
endif

# Renews the exact versions that CI installs, from the ranges in pyproject.toml.
constraints:
	$(PYTHON) -m venv --clear .venv-constraints
	.venv-constraints/bin/python $(INSTALL) ".[dev]"
	echo '# What CI installs: the exact versions of everything in the extra "dev" (make constraints renews them).' >constraints.new
	.venv-constraints/bin/python -m pip freeze --all --exclude pip --exclude packline >>constraints.new
	mv constraints.new constraints.txt
	rm -rf .venv-constraints

clean:
	rm -rf .venv .venv-*/ dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
