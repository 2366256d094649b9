# Every target sets up what it needs, once. ARGS="-k varint" goes to pytest.
.DEFAULT_GOAL := help
SHELL := /bin/bash
MAKEFLAGS += --no-print-directory

VENV := .venv
PY := $(VENV)/bin/python
ARGS ?=

# A tier is a folder and a mark (tests/conftest.py). Each target names its folders, so that the
# fast tests do not import the slow ones; tests/test_first_contact.py checks that no folder is lost.
FAST_FOLDERS := tests/unit tests/native tests/scripts tests/conformance tests/properties tests/corruption \
	tests/mutations tests/adversary $(wildcard tests/test_*.py)
SLOW_FOLDERS := tests/crash tests/interop tests/fuzz tests/robustness tests/spark tests/benchmarks \
	tests/adversary tests/corruption tests/mutations tests/unit/spark tests/unit/cli/spark \
	tests/unit/cli/test_doctor_checks.py
SLOW := crash or interop or fuzz or robustness or spark or bench

# Tests run in WORKERS processes; WORKERS=1 runs them in one, for a debugger. Fast tests are moved
# between workers one by one; slow ones stay together by file, since a file's tests share brokers.
WORKERS ?= 2
PARALLEL := $(if $(filter-out 0 1,$(WORKERS)),--numprocesses=$(WORKERS) --max-worker-restart=0)
FAST_TESTS = -m "not ($(SLOW))" $(PARALLEL) $(if $(PARALLEL),--dist=worksteal) $(FAST_FOLDERS)
SLOW_TESTS = -m "$(SLOW)" $(PARALLEL) $(if $(PARALLEL),--dist=loadfile) $(SLOW_FOLDERS)

# Each test process reads compiled bytecode instead of compiling 1,500 modules; without it,
# collection takes three times as long.
export PYTHONDONTWRITEBYTECODE :=

# The lock files decide what is installed; pyproject.toml decides what `import cordwood` is.
DEV := $(VENV)/.dev.stamp
INSTALLED := $(VENV)/.installed.stamp
SPARK := $(VENV)/.spark.stamp
PEERS := $(VENV)/.peers.stamp

.PHONY: help demo test test-all site bench bench-kafka bench-spark soak check gates format lock setup kernels levels clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(DEV): requirements/dev.txt scripts/setup-venv
	@PYTHON="$(PYTHON)" scripts/setup-venv $(VENV) requirements/dev.txt
	@touch $@

$(INSTALLED): $(DEV) pyproject.toml
	@CORDWOOD_BUILD_KERNELS=0 $(PY) -m pip install --quiet --disable-pip-version-check --no-deps \
		--no-build-isolation -e .
	@touch $@

$(SPARK): requirements/spark.txt $(INSTALLED)
	@scripts/setup-venv $(VENV) requirements/spark.txt
	@touch $@

$(PEERS): requirements/peers.txt $(SPARK)
	@scripts/setup-venv $(VENV) requirements/peers.txt
	@touch $@

setup: $(INSTALLED) $(PEERS) ## the virtual environment with everything in it

demo: $(SPARK) kernels ## what exists, with numbers and pictures
	@scripts/setup-java
	@$(PY) -m examples.demo

# The library of kernels lies in src/. One that was made from other sources is made again, by zig
# where the system has no C compiler. Status 3 is a processor that has no kernels.
LIBRARY := src/cordwood/records/kernels/_machine.abi3.so
kernels: $(INSTALLED) ## compiles the kernels, if their sources have changed
	@$(PY) -m native.c_compiler || scripts/setup-venv $(VENV) requirements/compiler.txt
	@$(PY) -m native.make_kernels $(LIBRARY) --if-stale || [ $$? = 3 ]

# The fast tests run on the processor's highest level.
levels: kernels ## the tests of kernels on each lower level of the processor
	@CORDWOOD_CPU_LEVEL=x86-64-v2 $(PY) -m pytest $(PARALLEL) tests/native tests/properties \
		tests/unit/records tests/unit/compaction $(ARGS)

test: $(INSTALLED) kernels ## the fast tests; WORKERS=2 processes, ARGS="-k varint" goes to pytest
	@$(PY) -m pytest $(FAST_TESTS) $(ARGS)

# The last line of the output is pytest's own. Its summary lists the time of each step and tier.
# FAST_TESTED=seconds, which .ci/run sets, states that the fast tests passed at this very commit.
TIMES := build/times.txt
test-all: $(INSTALLED) $(PEERS) kernels ## the fast tests, then crash, interop, fuzz, robustness, Spark, small benchmarks
	@scripts/setup-interop
	@mkdir -p build && rm -f $(TIMES)
ifdef FAST_TESTED
	@printf 'fast tests: not repeated, they passed in the fresh clone of this commit\n'
	@printf '%-24s %7.1f s, in the fresh clone, set-up included\n' fast $(FAST_TESTED) > $(TIMES)
else
	@scripts/timed $(TIMES) fast $(MAKE) test
endif
	@scripts/timed $(TIMES) 'reader coverage' scripts/reader-coverage
	@scripts/timed $(TIMES) 'kernel levels' $(MAKE) levels
	@CORDWOOD_TIMES=$(TIMES) HYPOTHESIS_PROFILE=ci $(PY) -m pytest $(SLOW_TESTS) $(ARGS)

site: $(INSTALLED) $(PEERS) ## the pages of docs/ as a site, into build/site
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet

bench: $(INSTALLED) $(PEERS) kernels ## figures next to peers, into build/bench.json; MISSED marks a goal not reached
	@mkdir -p build
	@$(PY) -m benchmarks
	@$(PY) scripts/import_cost.py

bench-kafka: $(INSTALLED) $(PEERS) kernels ## figures next to Apache Kafka itself, which Maven fetches
	@scripts/setup-interop
	@$(PY) -m benchmarks.kafka.dump
	@$(PY) -m benchmarks.kafka.clients
	@$(PY) -m benchmarks.kafka.load --full
	@$(PY) -m benchmarks.kafka.cluster --full
	@$(PY) -m benchmarks.kafka.life --full
	@$(PY) -m benchmarks.kafka.compaction --full
	@$(PY) -m benchmarks.kafka.coordination --full
	@$(PY) -m benchmarks.macro.long_polls --kafka

bench-spark: $(INSTALLED) $(PEERS) kernels ## figures next to Spark's own connector, which Maven fetches, into build/bench.json
	@scripts/setup-interop
	@$(PY) -m benchmarks.spark.throughput --full
	@$(PY) -m benchmarks.spark.streams --full
	@$(PY) -m benchmarks.spark.exactly_once --full
	@$(PY) -m benchmarks.spark.compaction --full

soak: $(INSTALLED) $(PEERS) kernels ## the same code with large numbers, then a fresh clone
	@scripts/setup-interop
	@CORDWOOD_SOAK=1 HYPOTHESIS_PROFILE=long $(PY) -m pytest --timeout=7200 $(ARGS)
	@scripts/sanitized-kernels
	@$(PY) -m benchmarks.spark.compaction --soak
	@scripts/fresh-clone test demo test

check: gates test ## format, lint, types, contracts, budgets, commits, fast tests

gates: $(SPARK) ## the same without the tests
	@$(PY) -m ruff format --check .
	@$(PY) -m ruff check .
	@$(PY) -m mypy
	@$(VENV)/bin/lint-imports --no-cache
	@$(PY) -m scripts.tidy
	@$(PY) scripts/commits.py

format: $(INSTALLED) ## rewrites what ruff can rewrite
	@$(PY) -m ruff check --fix-only --quiet .
	@$(PY) -m ruff format .

lock: $(INSTALLED) ## renews requirements/*.txt
	@scripts/lock

clean: ## removes what these targets made, the virtual environment too
	@rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage \
		$(LIBRARY)
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
