# Everything on a fresh machine with Python 3.13 and Node 20 or newer. CI runs the same commands.
PYTHON ?= python3
PORT ?= 7071
AZURITE_PORT ?= 10000
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup check test demo start format chaos audit

setup: $(VENV)/.ready node_modules/.ready

$(VENV)/.ready: requirements.txt requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 13))' || \
		{ echo "Fitting Room needs Python 3.13 or newer: set PYTHON=/path/to/python3.13"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

node_modules/.ready: package.json package-lock.json
	@command -v npm >/dev/null || { echo "Fitting Room needs Node 20 or newer with npm, for Azurite"; exit 1; }
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -q tests/infra tests/guards

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: setup
	$(BIN)/pytest -n auto --dist loadfile

demo: setup
	$(BIN)/python -m bench.demo

chaos: setup
	$(BIN)/python -m bench.chaos

start: setup
	$(BIN)/python -m devhost --port $(PORT) --azurite-port $(AZURITE_PORT)

# Asks the public advisory databases; a package that they do not know fails too.
audit:
	$(PYTHON) -m venv .audit
	.audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1
	.audit/bin/pip-audit --strict --no-deps --disable-pip --progress-spinner off -r requirements.txt
