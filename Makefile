# Two commands that need nothing but Python 3.11+ (npm is optional):
#   make demo   runs the main job for real, on scripted local model APIs
#   make test   runs everything
PY := .venv/bin/python
PYTEST_ARGS ?= -n 2 --dist loadgroup

.PHONY: demo test lint types layers check bench bench-handoff setup harnesses clean

demo: setup
	@$(PY) scripts/install_harnesses.py --optional --only codex --only claude
	@$(PY) scripts/demo.py

test: setup harnesses
	@$(PY) -m pytest $(PYTEST_ARGS)

setup:
	@scripts/setup

harnesses: setup
	@$(PY) scripts/install_harnesses.py --optional

lint: setup
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .

types: setup
	@.venv/bin/mypy launcher importers handoffs leases ledger workstream_entry.py tests scripts bench

layers: setup
	@.venv/bin/lint-imports

check: lint types layers

bench: setup
	@$(PY) -m bench

# What a handoff carries; ARGS=--write renews docs/handoff-benchmark.md.
bench-handoff: setup
	@$(PY) -m bench.handoff $(ARGS)

clean:
	rm -rf .venv .harnesses .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
