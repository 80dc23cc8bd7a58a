# Two commands matter: `make demo` and `make test`. Everything they need is made on the way.
#
#   make demo                  from a clone to a judged canary on a real Kubernetes (ENGINE=sim)
#   make demo ENGINE=vllm      the same with the real vLLM on the CPU
#   make demo CONTEXT=name     on a cluster that you have, by its kubeconfig context
#   make demo-down             remove what the demo brought up
#   make test                  all tests, the ones on the real cluster included
#   make test-vllm             the ones with the real engine
#   make bench                 decisions beside the rules of others, a simulated week, replay's speed, idle cost
#   make bars                  every bar of the judge at its full number of runs
#   make lint                  ruff, mypy, import-linter, drift of generated files

SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ENGINE ?= sim
CONTEXT ?=
export PYTHONPATH := operator:.

.PHONY: help engine-packages demo demo-down test test-fast test-vllm bench bars lint format generate clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^#   make/make/p' Makefile

$(VENV)/.complete: requirements.lock requirements-dev.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-dev.lock
	@touch $@

demo: $(VENV)/.complete
	@$(BIN)/python -m demo --engine $(ENGINE) $(if $(CONTEXT),--context $(CONTEXT))

demo-down: $(VENV)/.complete
	@$(BIN)/python -m demo --down $(if $(CONTEXT),--context $(CONTEXT))

test: $(VENV)/.complete
	$(BIN)/python -m pytest -q -m "not vllm" $(ARGS)

test-fast: $(VENV)/.complete
	$(BIN)/python -m pytest -q -m "not vllm and not cluster and not slow" $(ARGS)

# What the real engine's shared libraries are linked with.
engine-packages:
	@ldconfig -p | grep -q libnuma.so.1 || { apt-get update -qq && apt-get install -y -qq --no-install-recommends libnuma1 libgomp1; }

test-vllm: $(VENV)/.complete engine-packages
	$(BIN)/python -m pytest -q -m vllm tests/vllm $(ARGS)

bench: $(VENV)/.complete
	$(BIN)/python -m benchmarks.decisions --runs 1000
	$(BIN)/python -m benchmarks.week
	$(BIN)/python -m benchmarks.week --scenario rough-week
	$(BIN)/python -m benchmarks.replay
	$(BIN)/python -m benchmarks.idle
	$(BIN)/python -m benchmarks.cli

bars: $(VENV)/.complete
	SPECDEPLOY_RUNS=1000 $(BIN)/python -m pytest -q -m slow tests/judge $(ARGS)

lint: $(VENV)/.complete
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.complete
	$(BIN)/ruff check --fix . || true
	$(BIN)/ruff format .

generate: $(VENV)/.complete
	$(BIN)/python -m specdeploy crd > crds/specdeployments.yaml
	cp crds/specdeployments.yaml charts/specdeploy/files/specdeployments.yaml
	for page in schema reference rules methods amd catalogue versions; do $(BIN)/python -m tools.$$page; done

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
