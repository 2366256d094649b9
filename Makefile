# Every target sets up what it needs, once. ARGS="-k varint" goes to pytest.
.DEFAULT_GOAL := help
SHELL := /bin/bash
MAKEFLAGS += --no-print-directory

VENV := .venv
PY := $(VENV)/bin/python
SLOW := crash or interop or fuzz or robustness or spark or bench
FAST := not ($(SLOW))
ARGS ?=

# The lock files decide what is installed; pyproject.toml decides what `import cordwood` is.
DEV := $(VENV)/.dev.stamp
INSTALLED := $(VENV)/.installed.stamp
SPARK := $(VENV)/.spark.stamp
PEERS := $(VENV)/.peers.stamp

.PHONY: help demo test test-all bench bench-kafka bench-spark soak check gates format tidy lock setup clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(DEV): requirements/dev.txt scripts/setup-venv
	@PYTHON="$(PYTHON)" scripts/setup-venv $(VENV) requirements/dev.txt
	@touch $@

$(INSTALLED): $(DEV) pyproject.toml
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(SPARK): requirements/spark.txt $(INSTALLED)
	@scripts/setup-venv $(VENV) requirements/spark.txt
	@touch $@

$(PEERS): requirements/peers.txt $(SPARK)
	@scripts/setup-venv $(VENV) requirements/peers.txt
	@touch $@

setup: $(INSTALLED) $(PEERS) ## the virtual environment with everything in it

demo: $(SPARK) ## what exists, with numbers and pictures
	@scripts/setup-java
	@$(PY) -m examples.demo

test: $(INSTALLED) ## the fast tests
	@$(PY) -m pytest -m "$(FAST)" $(ARGS)

# The last line of the output is pytest's own. Its summary lists the time of each tier.
test-all: $(INSTALLED) $(PEERS) ## the fast tests, then interop, fuzzing, robustness and small benchmarks
	@scripts/setup-interop
	@mkdir -p build && date +%s > build/test-all.start
	@$(MAKE) test
	@seconds=$$(( $$(date +%s) - $$(cat build/test-all.start) )) && scripts/reader-coverage && \
		CORDWOOD_FAST_SECONDS=$$seconds HYPOTHESIS_PROFILE=ci \
		$(PY) -m pytest -m "$(SLOW)" $(ARGS)

bench: $(INSTALLED) $(PEERS) ## figures beside peers, into build/bench.json; MISSED marks a goal not reached
	@mkdir -p build
	@$(PY) -m benchmarks
	@$(PY) scripts/import_cost.py

bench-kafka: $(INSTALLED) $(PEERS) ## figures beside Apache Kafka itself, which Maven fetches
	@scripts/setup-interop
	@$(PY) -m benchmarks.kafka.dump
	@$(PY) -m benchmarks.kafka.clients
	@$(PY) -m benchmarks.kafka.load --full
	@$(PY) -m benchmarks.kafka.life --full
	@$(PY) -m benchmarks.kafka.compaction --full

bench-spark: $(INSTALLED) $(PEERS) ## figures beside Spark's own connector, which Maven fetches, into build/bench.json
	@scripts/setup-interop
	@$(PY) -m benchmarks.spark.throughput --full
	@$(PY) -m benchmarks.spark.compaction --full

soak: $(INSTALLED) $(PEERS) ## the same code with large numbers, then a fresh clone
	@scripts/setup-interop
	@CORDWOOD_SOAK=1 HYPOTHESIS_PROFILE=long $(PY) -m pytest --timeout=7200 $(ARGS)
	@$(PY) -m benchmarks.spark.compaction --soak
	@scripts/fresh-clone

check: gates test ## format, lint, types, contracts, budgets, fast tests

gates: $(SPARK) ## the same without the tests
	@$(PY) -m ruff format --check .
	@$(PY) -m ruff check .
	@$(PY) -m mypy
	@$(VENV)/bin/lint-imports --no-cache
	@$(PY) scripts/tidy.py

format: $(INSTALLED) ## rewrites what ruff can rewrite
	@$(PY) -m ruff check --fix-only --quiet .
	@$(PY) -m ruff format .

lock: $(INSTALLED) ## renews requirements/*.txt
	@scripts/lock

clean: ## removes what these targets made, the virtual environment too
	@rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
