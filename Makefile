# Every target sets up what it needs; see README.md.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Tests and services start hundreds of processes, which should not each compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-unit campaign coverage test-gpu lint docs pictures bench sbom audit kafka clean

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Benanza needs Python 3.11 or newer; say: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(STAMP)  ## lower bounds of nine real models on this machine, and on a recorded GPU
	$(BIN)/benanza import recordings/nvidia-h200.xz recordings/nvidia-h200-ceilings.xz recordings/nvidia-h200-runs.xz --data data/demo
	$(BIN)/benanza run $$($(BIN)/benanza zoo) --data data/demo
	$(BIN)/benanza bounds --precision fp32,tf32,fp16,bf16 --data data/demo
	$(BIN)/benanza advise zoo:resnet50 --precision fp16 --data data/demo
	$(BIN)/benanza questions $$($(BIN)/benanza zoo) --precision fp16 --data data/demo
	$(BIN)/benanza report $$($(BIN)/benanza zoo) --data data/demo --out data/demo/report.html

test: $(STAMP)  ## all tests that need no GPU
	-deploy/kafka/run --install
	$(BIN)/python -m pytest -m 'not alone' --numprocesses 4 --dist worksteal --hypothesis-profile sample
	# These compare times: a second look tells a busy machine from a defect, which fails again.
	$(ALONE) || $(ALONE) --last-failed

# Of the files that have such tests only, since collecting all takes longer than to run them.
ALONE = $(BIN)/python -m pytest -m alone $$(grep --recursive --files-with-matches --include '*.py' 'mark\.alone' tests)

test-unit: $(STAMP)  ## those that need no broker, no engine, no other processes and no benchmarks
	$(BIN)/python -m pytest -m 'not (integration or slow or alone or gpu)' \
		--numprocesses 2 --dist worksteal --hypothesis-profile quick

# `make test` has a part of each. Another seed tries others: make campaign SEED=2
SEED ?= 1
CAMPAIGNS := campaign-examples campaign-simulation campaign-chaos campaign-poison campaign-damage campaign-fuzz
.PHONY: $(CAMPAIGNS)
campaign: $(CAMPAIGNS)  ## some hours of examples, faults, poison and damage

campaign-examples: $(STAMP)
	$(BIN)/python -m pytest -m 'hypothesis and not (alone or gpu)' \
		--numprocesses 2 --dist worksteal --hypothesis-profile many --hypothesis-seed=$(SEED) --timeout 3600

campaign-simulation: $(STAMP)
	$(BIN)/python -m tests.simulation --seeds 10000 --from $(SEED)0000

campaign-chaos campaign-poison campaign-damage campaign-fuzz: campaign-%: $(STAMP)
	$(BIN)/python -m tests.$* --seed $(SEED)

coverage: $(STAMP)  ## which lines the tests reach; it takes them twice as long
	-deploy/kafka/run --install
	$(BIN)/python -m pytest -m 'not alone' --numprocesses 3 --dist worksteal --cov --cov-report=term:skip-covered

test-gpu: $(STAMP)  ## what needs an NVIDIA GPU, with the extra cuda
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,cuda]'
	$(BIN)/python -m pytest -m gpu

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@# Its workers have three seconds to start, which a busy machine doesn't always give them.
	$(BIN)/mypy --num-workers 2 || { [ $$? -eq 2 ] && $(BIN)/mypy; }

docs: $(STAMP)  ## the documentation site, in build/site
	$(BIN)/mkdocs build --strict

pictures: $(STAMP)  ## docs/images: the report on recorded H200s, as Debian's Chromium shows it
	$(BIN)/python -m tests.docs.pictures

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# In an environment of its own, since it would list itself.
sbom: $(STAMP)  ## build/sbom.json: what is installed, as CycloneDX
	$(PYTHON) -m venv build/cyclonedx
	build/cyclonedx/bin/python -m pip install --quiet --disable-pip-version-check cyclonedx-bom==7.5.0
	build/cyclonedx/bin/cyclonedx-py environment --pyproject pyproject.toml \
		--output-reproducible --output-file build/sbom.json $(BIN)/python

# It asks the public index of Python packages for what is known of each pinned version.
audit: $(STAMP)  ## which dependencies have known vulnerabilities; mirrors can't say
	$(PYTHON) -m venv build/pip-audit
	build/pip-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1
	build/pip-audit/bin/pip-audit --requirement constraints.txt --no-deps --disable-pip --strict

kafka:  ## a real Kafka broker on loopback, port 9092, until Ctrl-C
	deploy/kafka/run

clean:
	rm -rf $(VENV) deploy/kafka/jars build dist .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
