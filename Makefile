# sfumato: `make demo` shows it, `make test` proves it, `make check` is for every commit.
# The first target makes .venv by itself; a second run starts at once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
STAMPS := $(VENV)/stamps

.PHONY: demo test check audit torture bench peers docs clean help

help:
	@echo "make demo     see it work, in under a minute"
	@echo "make test     every test but the full counts (under 15 minutes)"
	@echo "make check    format, lint, types, layers, fast tests (under 2 minutes); before every commit"
	@echo "make audit    attack our own mechanisms"
	@echo "make torture  the full counts, recorded in docs/torture.md with date and commit"
	@echo "make bench    measure us beside the peers that are installed (make peers)"
	@echo "make peers    the peers, each in a virtual environment of its own under .peers/"
	@echo "make docs     check that the documentation matches the code"

demo: $(STAMPS)/base
	@$(BIN)/sfumato demo

test: $(STAMPS)/test
	@$(BIN)/python -m pytest -n auto --dist loadfile -m "not torture" -rs

check: $(STAMPS)/test
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow and not torture"

audit: $(STAMPS)/base
	@$(BIN)/sfumato audit

torture: $(STAMPS)/test
	@$(BIN)/python -m pytest tests -m torture -rs --torture-record=docs/torture.md

bench: $(STAMPS)/test
	@for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

peers:
	@PYTHON="$(PYTHON)" sh benchmarks/peers.sh

docs: $(STAMPS)/test
	@$(BIN)/python -m pytest tests/test_docs.py tests/test_house_rules.py

clean:
	rm -rf $(VENV) demo

# One stamp for what runs sfumato, one for what tests it. Each is remade when the list of packages changes.

$(STAMPS)/base: pyproject.toml constraints.txt | $(STAMPS)/venv
	@echo "installing sfumato into $(VENV)"
	@$(PIP) install -c constraints.txt -e .
	@touch $@

$(STAMPS)/test: $(STAMPS)/base
	@echo "installing the test tools into $(VENV)"
	@$(PIP) install -c constraints.txt -e '.[test,dev]'
	@touch $@

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "sfumato needs Python 3.11 or newer, and $(PYTHON) is %d.%d: make PYTHON=python3.11" % sys.version_info[:2])'
	@if $(PYTHON) -c 'import ensurepip' 2>/dev/null; then \
		$(PYTHON) -m venv $(VENV); \
	elif $(PYTHON) -m pip --version >/dev/null 2>&1; then \
		$(PYTHON) -m venv --without-pip $(VENV) && $(PYTHON) -m pip --quiet --python $(VENV) install pip; \
	else \
		echo "this Python has neither ensurepip nor pip: apt-get install -y python3-venv python3-pip"; exit 1; \
	fi
	@mkdir -p $(STAMPS) && touch $@
