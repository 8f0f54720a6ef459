# `make` lists the verbs. Everything they need is set up by this file in .venv and target.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.PHONY: help run reproduce test live live-gateway cross paths traffic soak fuzz check deny wasm lab-engine lab-ready lab-pages lab-types lab msrv fmt bench bench-gateway docs wheel deb check-deb clean

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DEVELOP := $(VENV)/.develop
WHEELS := target/wheels
CARGO_DEB := target/tools/bin/cargo-deb
PACKAGING := target/release/packaging
DENY := PATH="$(CURDIR)/$(BIN):$$PATH" cargo deny --locked
WASM := wasm32-unknown-unknown
# The compiler for that target, if it is another one than that of everything else.
WASM_RUSTC := $(or $(CELLWAY_WASM_RUSTC),$(RUSTC),rustc)
HAS_WASM = library=$$("$(WASM_RUSTC)" --print target-libdir --target $(WASM)) && [ -d "$$library" ]
NO_WASM = the compiler $(WASM_RUSTC) has no target $(WASM); with rustup: rustup target add $(WASM)
LAB := target/web
LAB_COPY := python/cellway/_lab
HAS_NPM = command -v npm >/dev/null && node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)' 2>/dev/null
NO_NPM = Node 20 or later with npm is not installed (Debian 13: nodejs npm)
NODE_MODULES := web/node_modules/.package-lock.json
PORT ?= 8000
MSRV := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# The first of these that runs and is 3.11 or later; `make PYTHON=...` overrides.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)

# All that goes into the wheel, but for the lab: its copy is there only while `make wheel` packs it, so that no older one is
# packed with a newer simulator.
SOURCES := $(shell find Cargo.toml Cargo.lock pyproject.toml LICENSE README.md crates python papers scenarios \
	-type f ! -path '*/__pycache__/*' ! -name '*.so' 2>/dev/null)

help: ## List the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(INSTALLED) ## A first look: seven papers with few seeds, one or two minutes, seconds the second time
	$(BIN)/cellway reproduce --quick --out out/quick --force --cache out/runs $(filter-out --quick,$(ARGS))

reproduce: $(INSTALLED) ## Reproduce seven papers with all seeds, emulation included; open out/papers/index.html
	$(BIN)/cellway reproduce --out out/papers --force --cache out/runs $(ARGS)

test: $(DEVELOP) ## Run every test, in Rust and in Python, those of emulation where this machine allows it
	$(BIN)/python tools/test.py

live: $(VENV)/.tools ## Run the tests of emulation and of the gateway alone (root, or a kernel with user namespaces for all)
	$(BIN)/python tools/test.py --live

live-gateway: $(INSTALLED) ## Test the gateway with real hosts, then repeat the experiment of kdd with it
	$(BIN)/python tools/test.py --live-gateway
	$(BIN)/cellway reproduce kdd --only gw-,linux-gw- $(ARGS)

cross: $(DEVELOP) ## Compare TCP and queues with ns-2 (Debian: ns2) and the kernel, into docs/validation
	PYTHONPATH=tools $(BIN)/python -m cross.queues --page docs/validation/queues.md
	PYTHONPATH=tools $(BIN)/python -m cross.controls --command $(BIN)/cellway --page docs/validation/controls.md
	PYTHONPATH=tools $(BIN)/python -m cross --page docs/validation/cross.md $(ARGS)

paths: $(DEVELOP) ## Estimate paths from captures of real transfers over emulated ones, into docs/validation/paths.md
	PYTHONPATH=tools $(BIN)/python -m paths --command $(BIN)/cellway --page docs/validation/paths.md $(ARGS)

traffic: $(DEVELOP) ## Compare real programs behind a path with their derived workload, simulated over the same path
	PYTHONPATH=tools $(BIN)/python -m traffic --page docs/validation/traffic.md --figure docs/images/traffic.svg $(ARGS)

soak: SECONDS ?= 1800
soak: ## Two gateway daemons under churn for SECONDS (1800): neither may grow in memory or descriptors
	CELLWAY_SOAK_SECONDS=$(SECONDS) cargo test --package cellway-gatewayd --locked --test soak -- --ignored --nocapture

fuzz: SECONDS ?= 3600
fuzz: ## Fuzz the gateway and captures for SECONDS (3600): pairs of gateways against a model, and the fuzz targets
	tools/fuzz.sh $(SECONDS)

check: $(DEVELOP) ## Formatting, lints, types, spelling, links, dependencies and the reference of the crates
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
	$(BIN)/ruff format --check docs/notebooks papers python tests/python tools
	$(BIN)/ruff check docs/notebooks papers python tests/python tools
	$(BIN)/mypy
	$(BIN)/typos
	$(BIN)/python tools/links.py
	@$(MAKE) --no-print-directory lab-types wasm deny

deny: $(DEVELOP) ## Check the dependencies by deny.toml: licences, sources, and advisories where RustSec can be reached
	$(DENY) check --hide-inclusion-graph licenses bans sources
	@if $(DENY) fetch db >/dev/null 2>&1; then \
		$(DENY) check --hide-inclusion-graph --disable-fetch advisories; \
	else \
		echo "skipped: the advisories of RustSec cannot be fetched from github.com"; \
	fi

wasm: ## Check that the simulator compiles for WebAssembly, where the compiler can (another one: CELLWAY_WASM_RUSTC=...)
	@if $(HAS_WASM); then \
		RUSTC="$(WASM_RUSTC)" cargo check --package cellway-web --locked --target $(WASM) --target-dir target/wasm; \
	else \
		echo "skipped: $(NO_WASM)"; \
	fi

lab-engine: ## Build the simulator for web pages, target/web/cellway.wasm
	@$(HAS_WASM) || { echo "make: $(NO_WASM)" >&2; exit 1; }
	RUSTC="$(WASM_RUSTC)" cargo build --package cellway-web --lib --profile web --locked --target $(WASM) \
		--target-dir target/wasm
	@mkdir -p $(LAB)
	@cp target/wasm/$(WASM)/web/cellway_web.wasm $(LAB)/cellway.wasm
	@echo "$(LAB)/cellway.wasm: $$(wc -c < $(LAB)/cellway.wasm) octets, $$(gzip -9c $(LAB)/cellway.wasm | wc -c) with gzip"

$(NODE_MODULES): web/package-lock.json
	cd web && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

lab-ready: ## Say whether the lab can be built here, and what is missing
	@$(HAS_NPM) || { echo "$(NO_NPM)"; exit 1; }
	@$(HAS_WASM) || { echo "$(NO_WASM)"; exit 1; }

lab-pages: lab-ready lab-engine ## Build the lab and its course, a folder of pages that any browser opens: target/web/lab/index.html
	@$(MAKE) --no-print-directory $(NODE_MODULES)
	node web/build.mjs $(LAB)/cellway.wasm $(LAB)/lab

lab-types: ## Check the types and the format of the pages' sources, where npm is installed
	@if $(HAS_NPM); then \
		$(MAKE) --no-print-directory $(NODE_MODULES) && cd web && npx tsc && npx prettier --check --log-level warn .; \
	else \
		echo "skipped: $(NO_NPM)"; \
	fi

lab: lab-pages ## Build the lab and show it at http://127.0.0.1:8000 (PORT=...) until Ctrl-C
	@echo "the lab: http://127.0.0.1:$(PORT)/"
	@$(or $(PYTHON),python3) -m http.server --bind 127.0.0.1 --directory $(LAB)/lab $(PORT) || [ $$? = 130 ]

# cellway-stacks needs a newer one for smoltcp, which its Cargo.toml says.
msrv: ## Check that the oldest supported Rust builds everything but cellway-stacks, where rustup has that toolchain
	@if rustup run $(MSRV) cargo --version >/dev/null 2>&1; then \
		rustup run $(MSRV) cargo check --workspace --exclude cellway-stacks --all-targets --locked --target-dir target/msrv; \
	else \
		echo "skipped: Rust $(MSRV) is not installed; with rustup: rustup toolchain install $(MSRV) --profile minimal"; \
	fi

fmt: $(DEVELOP) ## Format the code
	cargo fmt --all
	$(BIN)/ruff format docs/notebooks papers python tests/python tools
	$(BIN)/ruff check --fix --quiet docs/notebooks papers python tests/python tools

bench: $(DEVELOP) ## Measure the speed of the simulator and what an emulation holds; ends with a table of targets (ARGS=--quick)
	cargo bench --package cellway-net --locked
	cargo bench --package cellway-sim --locked --bench packets
	cargo bench --package cellway-sim --locked --bench engines
	cargo bench --package cellway-sim --locked --bench conversations
	cargo bench --package cellway-lab --locked --bench sweeps
	$(BIN)/python tools/cluster_bench.py
	cargo bench --package cellway-emu --locked --bench held
	PYTHONPATH=tools $(BIN)/python -m engine_bench $(ARGS)

bench-gateway: ## Measure a pair of gateways against the kernel and kcptun, into out/bench-gateway (ARGS=--quick)
	cargo bench --package cellway-emu --locked --bench gateway -- $(ARGS)

docs: ## Build the reference of the Rust crates in target/doc
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

wheel: ## Build the Python wheel in target/wheels, with the lab where its pages can be built
	@rm -rf $(LAB_COPY)
	@if why=$$($(MAKE) --no-print-directory lab-ready 2>&1); then \
		$(MAKE) --no-print-directory lab-pages && cp -r $(LAB)/lab $(LAB_COPY); \
	else \
		echo "the wheel has no lab: $$(head -n 1 <<< "$$why")"; \
	fi
	@$(MAKE) --no-print-directory $(INSTALLED); status=$$?; rm -rf $(LAB_COPY); exit $$status
	@ls $(WHEELS)/*.whl

deb: $(CARGO_DEB) ## Build the Debian package of the gateway in target/debian
	@command -v dpkg-shlibdeps >/dev/null || { echo "make: dpkg-shlibdeps is missing: install dpkg-dev" >&2; exit 1; }
	cargo build --release --locked --package cellway-gatewayd
	rm -rf $(PACKAGING) && mkdir -p $(PACKAGING)/completions
	target/release/cellway-gateway manual --out $(PACKAGING)/man
	gzip -9n $(PACKAGING)/man/*.1
	target/release/cellway-gateway completions bash > $(PACKAGING)/completions/cellway-gateway
	target/release/cellway-gateway completions zsh > $(PACKAGING)/completions/_cellway-gateway
	target/release/cellway-gateway completions fish > $(PACKAGING)/completions/cellway-gateway.fish
	$(CARGO_DEB) --package cellway-gatewayd --locked --no-build

check-deb: ## Build the package, install it in a clean Debian and remove it again (root, debootstrap)
	tools/deb/check

clean: ## Remove what was built, and the results in out
	rm -rf $(VENV) target out $(LAB_COPY)

$(CARGO_DEB):
	cargo install --locked --root target/tools cargo-deb --version '^3'

$(VENV)/.tools:
	@command -v cargo >/dev/null || { echo "make: cargo is missing: install Rust from https://rustup.rs" >&2; exit 1; }
	@[ -n "$(PYTHON)" ] || { echo "make: Python 3.11 or later is missing: install it, or name it with PYTHON=..." >&2; exit 1; }
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "make: $(PYTHON) cannot make a virtual environment: install its venv module (Debian: python3-venv)" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'maturin>=1.16,<2'
	@touch $@

$(INSTALLED): $(VENV)/.tools $(SOURCES)
	rm -rf $(WHEELS)
	$(BIN)/maturin build --release --locked --out $(WHEELS) --interpreter $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps $(WHEELS)/*.whl
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(WHEELS)/*.whl
	@touch $@

# What tests and checks need beside the package.
$(DEVELOP): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(ls $(WHEELS)/*.whl)[dev]"
	@touch $@
