# Start here: `make up` gives a running cluster, `make test` runs everything that CI runs.

DATA ?= $(CURDIR)/.kedge
LISTEN ?= 127.0.0.1:6443
# Further flags of `kedge server`, as `kedge server --help` lists them.
FLAGS ?=
KEDGE := target/release/kedge

.PHONY: up down uninstall test lint bench chaos fuzz prepare prepare-test build

## Install what is missing, build, start a cluster, say what next
up: prepare build
	@FLAGS="$(FLAGS)" scripts/up "$(KEDGE)" "$(DATA)" "$(LISTEN)"

## Stop the cluster with all that runs in it; its data stays
down:
	@scripts/down "$(KEDGE)" "$(DATA)"

## Stop the cluster and remove everything that it made
uninstall:
	@scripts/down "$(KEDGE)" "$(DATA)" >/dev/null
	@rm -f "$(DATA)"/server.log*
	@if [ -x "$(KEDGE)" ]; then "$(KEDGE)" uninstall --data-dir "$(DATA)" >/dev/null; else rm -rf "$(DATA)"; fi
	@echo "Kedge is gone from this machine, $(DATA) too; what was built is still in target."

## Everything that CI runs
test: prepare-test lint
	cargo nextest run --locked --workspace --no-fail-fast
	scripts/test-python
	scripts/fuzz 20

lint:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

## Every figure of the README, measured on this machine
bench: prepare-test
	cargo build --locked --release -p kedge -p kedge-bench
	target/release/kedge-bench suite --kedge $(KEDGE)

## Fuzz each target for a while: make fuzz SECONDS=600
SECONDS ?= 60
fuzz: prepare-test
	scripts/fuzz $(SECONDS)

## Break three nodes in every way that we know of, for a while: make chaos SECONDS=3600, or ROUNDS=100; KEDGE_SEED=… repeats a run's choices, FROM=… from that round on
chaos: SECONDS = 900
chaos: prepare-test
	cargo build --locked --workspace --bin kedge
	KEDGE_CHAOS_SECONDS=$(if $(ROUNDS),,$(SECONDS)) KEDGE_CHAOS_ROUNDS=$(ROUNDS) KEDGE_CHAOS_FROM=$(FROM) \
	  cargo test --locked --workspace --test chaos -- --nocapture

build:
	cargo build --locked --release -p kedge

prepare:
	@scripts/prepare

prepare-test:
	@scripts/prepare test
