# One command for each thing that is done every day; `make` lists them.
PYTHON ?= $(or $(wildcard .venv/bin/python),python3)
#: Workers of pytest: a number, or auto for three per two cores, for tests also wait.
N ?= auto
#: What `make test` runs: paths, node ids, options.
T ?= tests
OUT ?= build/pictures

.DEFAULT_GOAL := help
.PHONY: help check static test costs packaging lint format types walls docs pictures bench lowest rooms house \
	lock formula install dist audit sbom mutants site demo

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

check: ## all that CI checks, but for the clean clone
	@$(MAKE) --no-print-directory static
	@$(MAKE) --no-print-directory test RLTUI_PACKAGING=require

static: lint types walls ## linters, types and import contracts

test: ## the tests, or some: make test T=tests/store, T='-k crosshair'
	$(PYTHON) -m pytest -q $(if $(filter tests,$(T)),-n $(N)) $(T)

costs: ## CPU seconds of the tests, by folder, file and test: make costs T=tests/tui
	@$(MAKE) --no-print-directory test T='$(T) -p scripts.cost_of_tests' N=$(N)

packaging: ## wheel, sdist and editable install
	RLTUI_PACKAGING=require $(PYTHON) -m pytest -q tests/test_packaging.py

lint: ## ruff: rules and formatting, nothing is changed
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

format: ## ruff: fix and format
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

types: ## mypy, strict
	$(PYTHON) -m mypy

walls: ## import contracts
	$(PYTHON) -c "from importlinter.cli import lint_imports_command as c; c()"

docs: ## the generated pages of docs/ and the tables of the README
	$(PYTHON) scripts/generate_docs.py
	$(PYTHON) scripts/package_map.py

pictures: ## the pictures of README and tour; every screen, size and theme into OUT=build/pictures
	$(PYTHON) scripts/make_pictures.py --all $(OUT)
	$(PYTHON) scripts/make_pictures.py
	$(PYTHON) scripts/make_pictures.py --tour
	$(PYTHON) scripts/make_pictures.py --frameworks

site: ## the documentation as a site in build/site; needs `pip install --group docs`
	$(PYTHON) -m mkdocs build --strict

demo: ## the moving picture of the README, docs/demo.gif
	$(PYTHON) scripts/make_demo.py

bench: ## what benchmarks/RESULTS.md measures (minutes)
	$(PYTHON) -m benchmarks.read
	$(PYTHON) -m benchmarks.live
	$(PYTHON) -m benchmarks.many
	$(PYTHON) -m benchmarks.compare
	$(PYTHON) -m benchmarks.samples

rooms: ## how often control crosses packages for one row, one key, one rule
	$(PYTHON) scripts/room_changes.py

house: ## what the package consists of, beside its budget; lower that: make house LOWER=--lower
	$(PYTHON) scripts/house.py $(LOWER)

lowest: ## the tests with the oldest dependencies that pyproject allows (needs uv)
	uv venv --quiet --allow-existing --python 3.10 .venv-lowest
	uv pip compile --quiet --python-version 3.10 --resolution lowest-direct --extra parquet \
		pyproject.toml --output-file .venv-lowest/lowest.txt
	uv pip install --quiet --python .venv-lowest/bin/python \
		--constraint .venv-lowest/lowest.txt --editable '.[dev]'
	.venv-lowest/bin/python -m pytest -q -n $(N)

LOCK = uv pip compile --no-config --quiet --universal --python-version 3.10 --generate-hashes \
	--no-annotate --custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade)

lock: ## what CI installs, with hashes, for every Python (needs uv); newest: make lock UPGRADE=1
	$(LOCK) pyproject.toml --output-file .ci/lock/runtime.txt
	$(LOCK) pyproject.toml --all-extras --constraint .ci/lock/runtime.txt \
		--output-file .ci/lock/dev.txt
	$(LOCK) --group pyproject.toml:tools --output-file .ci/lock/tools.txt

formula: ## the resources of the Homebrew formula, from the lock (needs uv)
	$(PYTHON) scripts/formula.py

install: ## the locked dependencies and this checkout, into the environment of PYTHON
	$(PYTHON) -m pip install --require-hashes --requirement .ci/lock/dev.txt
	$(PYTHON) -m pip install --no-deps --no-build-isolation --editable .

.venv-tools: .ci/lock/tools.txt
	$(PYTHON) -m venv .venv-tools
	.venv-tools/bin/python -m pip install --quiet --require-hashes --requirement $<
	touch $@

dist: ## wheel and sdist into dist, the same bytes for the same commit
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(PYTHON) -m build --no-isolation --outdir dist

audit: .venv-tools ## known vulnerabilities of the locked dependencies
	.venv-tools/bin/python scripts/audit.py .ci/lock/*.txt

sbom: dist .venv-tools ## bill of materials of the wheel, beside it in dist (CycloneDX)
	PATH="$(CURDIR)/.venv-tools/bin:$$PATH" PYTHON=$(PYTHON) .ci/sbom dist/*.whl dist/rltui.cdx.json

mutants: ## what the tests of tail, framing, lineage, engine, text miss (needs mutmut): M=tail
	$(PYTHON) scripts/mutants.py $(M)
