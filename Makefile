# The commands for people; each prints what it runs. `make` alone lists them.
#
#   PYTHON=python3.13   the interpreter that the environment is made with
#   VENV=.venv          where the environment is kept
#   DJANGO=6.1          a series of Django, instead of the newest this Python can have
#   DATABASE_URL=…      for demo, test and test-all: a PostgreSQL or MariaDB server instead of SQLite

PYTHON ?= python3
VENV ?= .venv
DJANGO ?=
ARGS ?=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

# A driver is installed only where an address asks for it: the one for MariaDB is compiled.
DRIVER := $(if $(filter postgres%,$(DATABASE_URL) $(ARGS)),postgresql)$(if $(filter mysql:% mariadb:% mariadb,$(DATABASE_URL) $(ARGS)),mariadb)
# Stamps say what has been installed; another group, driver or Django has another stamp.
KIND := $(if $(DRIVER),-$(DRIVER))$(if $(DJANGO),-django$(DJANGO))

.PHONY: help
help: ## list these targets
	@echo "make TARGET [ARGS=\"…\"]"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1 \2/p' Makefile | while read -r name text; do printf '  %-11s  %s\n' "$$name" "$$text"; done

.PHONY: demo
demo: $(VENV)/.example$(KIND) ## run the shop and a sandbox here; ARGS=--once buys once by itself and checks, ARGS=--help lists more
	exec "$(VENV)/bin/python" manage.py demo $(ARGS)

.PHONY: test
test: $(VENV)/.test$(KIND) ## run the quick tests in two minutes, each with three of its parameter sets, on SQLite or on DATABASE_URL; ARGS goes to pytest
	exec "$(VENV)/bin/python" -m pytest -n 4 --dist loadgroup -m "not slow" --parameters 3 $(SLOW_TIERS:%=--ignore=tests/%) $(ARGS)

.PHONY: test-all
test-all: $(VENV)/.test$(KIND) ## run every test: also browsers, brokers, kills, rivals, thousands of rows; ARGS and DATABASE_URL as for test
	exec "$(VENV)/bin/python" -m pytest -n 4 --dist loadgroup $(ARGS)

SLOW_TIERS := acceptance benchmarks reliability

.PHONY: torture
torture: $(VENV)/.test$(KIND) ## kill, stop and lie while payments are made; ARGS="--database postgresql --seconds 600"
	exec "$(VENV)/bin/python" -m tests.reliability.torture $(ARGS)

.PHONY: bench
bench: $(VENV)/.bench$(KIND) ## measure callbacks against the floor and the peers; ARGS="--quick --write", --help lists more
	exec "$(VENV)/bin/python" -m tests.benchmarks $(ARGS)

.PHONY: check
check: $(VENV)/.dev$(KIND) ## format, lint, types, migrations, rooms, translations
	PYTHON="$(VENV)/bin/python" scripts/check

.PHONY: release
release: $(VENV)/.dev$(KIND) ## say what is missing for a release, or print its last commands; ARGS=--help lists more
	exec "$(VENV)/bin/python" scripts/release $(ARGS)

.PHONY: screenshots
screenshots: $(VENV)/.dev$(KIND) ## take the pictures of the docs anew; ARGS=--all takes every screen, into var/
	exec "$(VENV)/bin/python" tests/acceptance/screenshots.py $(ARGS)

.PHONY: docs
docs: $(VENV)/.docs$(KIND) ## build the documentation site into .cache/docs/html, without the network; fails at any warning
	exec "$(VENV)/bin/python" -m sphinx -b html -W --keep-going -n -d .cache/docs/doctrees $(ARGS) docs .cache/docs/html

.PHONY: clean
clean: ## remove what these targets made: environment, caches, the demo's data
	if [ -f "$(VENV)/pyvenv.cfg" ]; then rm -rf "$(VENV)"; fi
	rm -rf .cache .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist var ./*.egg-info
	find . -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment itself. uv is quicker, but only used where it is there already.
$(VENV)/pyvenv.cfg:
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is missing or older than Python 3.11. Name another one: make $(MAKECMDGOALS) PYTHON=python3.13" >&2; exit 1; }
	@if command -v uv >/dev/null; then set -x; uv venv --quiet --allow-existing --python "$(PYTHON)" "$(VENV)"; \
	else set -x; "$(PYTHON)" -m venv "$(VENV)"; fi

# The extras of the package that each group of pyproject.toml goes with. `scripts/group` reads the
# group: only a pip from 2025 on can do it by itself.
$(VENV)/.test$(KIND) $(VENV)/.dev$(KIND) $(VENV)/.docs$(KIND): EXTRAS := cards,celery,qr,sandbox,tasks,xlsx
$(VENV)/.example$(KIND): EXTRAS := cards,qr,sandbox,xlsx
$(VENV)/.bench$(KIND): EXTRAS := postgresql,sandbox

$(VENV)/.example$(KIND) $(VENV)/.test$(KIND) $(VENV)/.bench$(KIND) $(VENV)/.dev$(KIND) $(VENV)/.docs$(KIND): $(VENV)/.%$(KIND): pyproject.toml scripts/group | $(VENV)/pyvenv.cfg
	@echo "Installing …"
	@"$(VENV)/bin/python" scripts/group $* >"$(VENV)/$*.txt"
	@if command -v uv >/dev/null; then set -x; uv pip install --quiet --python "$(VENV)/bin/python" -e ".[$(EXTRAS)$(DRIVER:%=$(comma)%)]" -r "$(VENV)/$*.txt" $(if $(DJANGO),"Django==$(DJANGO).*"); \
	else set -x; "$(VENV)/bin/python" -m pip install --quiet --disable-pip-version-check -e ".[$(EXTRAS)$(DRIVER:%=$(comma)%)]" -r "$(VENV)/$*.txt" $(if $(DJANGO),"Django==$(DJANGO).*"); fi
	@touch "$@"

comma := ,
