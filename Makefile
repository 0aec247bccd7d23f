# Two commands matter: `make demo` and `make test`. Each does its own set-up on a fresh Debian or Ubuntu with
# Python 3.11 to 3.13. One set of locks (requirements/*.txt) serves these three Pythons.
#
# Recipes are silent and set-up speaks on stderr: stdout belongs to the command itself, because
# `DEMO_ONCE=1 make demo` ends with one line of JSON there.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.SILENT:
# Python keeps what it compiled, whatever the environment says: else each process compiles every file anew, and the
# tests start hundreds.
export PYTHONDONTWRITEBYTECODE =
.PHONY: help setup video generation demo test test-python test-js test-long nightly lint lint-rules lint-types bench lock messages \
    screenshots conformance clean node

PY := .venv/bin/python
# Tests wait for servers and browsers much of their time: one process more than there are processors, four at most.
AT_ONCE = $$(n=$$(nproc); echo $$((n < 4 ? n + 1 : 4)))

help:
	echo 'make demo        the whole platform on this machine, with sample photographs (PORT=8000, DEMO_IMAGES=folder)'
	echo '                 DEMO_ONCE=1 make demo plays the loop without a person and ends with one line of JSON'
	echo 'make test        every test but the slow ones: Python, browser and JavaScript'
	echo 'make test-long   the slow ones'
	echo 'make nightly     full sizes, many seeds, loads and kills by the dozen: hours, on a quiet machine'
	echo 'make lint        linters, formatting, import rules, retired words, types, missing migrations'
	echo 'make bench       every benchmark, one line of JSON each'
	echo 'make setup       .venv from the locks, and the default database'
	echo 'make generation  diffusers and openai too, which draw images here and talk to servers of image and chat models'
	echo 'make video       PyAV too, which reads film clips (its FFmpeg has parts under the GPL)'
	echo 'make lock        write requirements/*.txt from the .in files'
	echo 'make messages    bring the translations in line with the sources (needs GNU gettext)'
	echo 'make screenshots write docs/screenshots from a played demo'
	echo 'make conformance write docs/conformance.md from the tests'
	echo 'make clean       remove .venv and caches (never the data under var/)'

setup:
	scripts/setup.sh runtime
	$(PY) manage.py migrate --noinput 1>&2

video:
	scripts/setup.sh video

generation:
	scripts/setup.sh generation

demo:
	scripts/setup.sh runtime
	folder=demo; [ "$${DEMO_ONCE:-}" != 1 ] || folder=demo-once; \
	DEERSTALKER_VAR="$${DEERSTALKER_VAR:-$(CURDIR)/var/$$folder}" exec $(PY) manage.py demo

test: node test-python test-js

test-python:
	scripts/setup.sh dev
	scripts/chromium.sh
	$(PY) -m pytest -m 'not long and not nightly' -n $(AT_ONCE) --dist worksteal $(PYTEST_ARGS)

# By name, one by one: a folder as argument means different things to different versions of node. Node 18, which
# Debian 12 has, keeps CustomEvent and crypto behind flags; every browser and every later node has them.
test-js: node
	files=$$(find tests static hits validation -path '*/node_modules' -prune -o \
	    \( -name '*.test.js' -o -name '*.test.mjs' \) -print | sort); \
	if [ -z "$$files" ]; then echo 'no JavaScript tests yet'; exit 0; fi; \
	if ! node -e 'new CustomEvent(crypto.randomUUID())' 2>/dev/null; then \
	    export NODE_OPTIONS='--experimental-global-customevent --experimental-global-webcrypto'; \
	fi; \
	node --test $$files

node:
	node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' 2>/dev/null || \
	    { echo 'make: Node.js 18 or newer is missing (it runs the JavaScript tests): apt-get install nodejs' 1>&2; exit 1; }

# Only the files that have slow tests: every process would collect all others too, which takes it half a minute.
test-long:
	scripts/setup.sh dev
	scripts/chromium.sh
	files=$$(grep -rlE --include='test_*.py' 'mark\.long\b' tests hits validation curation | sort); \
	$(PY) -m pytest -m 'long and not nightly' --timeout 1800 -n $(AT_ONCE) --dist worksteal $(PYTEST_ARGS) $$files

# Full sizes and loads measure time: one test at a time, each as long as it needs.
nightly:
	scripts/setup.sh dev
	scripts/chromium.sh
	$(PY) -m pytest -m nightly --timeout 7200 $(PYTEST_ARGS)
	DEERSTALKER_ALL_SIZES=1 $(PY) -m pytest -m 'browser and not nightly' --timeout 1800 $(PYTEST_ARGS)

# Types take as long as all else: both at once.
lint:
	scripts/setup.sh dev
	$(MAKE) --jobs 2 --output-sync=target lint-rules lint-types

lint-rules:
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'
	$(PY) -m scripts.words
	$(PY) manage.py makemigrations --check --dry-run

lint-types:
	$(PY) -m mypy

bench:
	scripts/setup.sh dev
	for file in tests/benchmarks/[!_]*.py; do \
	    [ -e "$$file" ] || { echo 'no benchmarks yet' 1>&2; break; }; \
	    $(PY) -m "tests.benchmarks.$$(basename "$$file" .py)" --json; \
	done

lock:
	scripts/lock.sh

messages:
	scripts/setup.sh runtime
	scripts/messages.sh

screenshots:
	scripts/setup.sh dev
	scripts/chromium.sh
	folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	DJANGO_SETTINGS_MODULE=annotation_site.settings DEERSTALKER_VAR="$$folder" PORT=$${PORT:-8765} \
	    $(PY) -m scripts.screenshots

conformance:
	scripts/setup.sh dev
	$(PY) -m scripts.conformance

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
