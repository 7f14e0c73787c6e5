# The same targets here and in CI; `make help` lists them. Nothing but Go, make and git has to be there: what else is
# needed is either fetched by Go at the pinned versions below or installed by scripts/setup.sh.

# Versions of the tools, in this one place; that of benchstat, which the tests run too, is in go.mod.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ACTIONLINT  := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.8.0
BENCHSTAT   := golang.org/x/perf/cmd/benchstat

GO       ?= go
# SUITES is how many packages are tested at once: many of them wait for servers and leases most of the time, so that it is
# more than a small machine has processors.
PKGS     ?= ./...
ARGS     ?= -driver rueidis -clients 512 -keys 10 -duration 5s
FUZZTIME ?= 5s
ROUNDS   ?= 6
RUNS     ?= 20
LOAD     ?= 6
SUITES   ?= 4
# Under the race detector each process, and a test starts many, ends with a second's sleep unless it is told not to.
GORACE   ?= atexit_sleep_ms=0
BENCH    ?= .

export GO SUITES STATICCHECK ACTIONLINT GOVULNCHECK BENCHSTAT FUZZTIME ROUNDS BENCH GORACE

.DEFAULT_GOAL := help
.PHONY: run test test-all race flakes lint gate fuzz bench golden record tables setup setup-all clean help

run: ## one real run: a private redis-server if there is one, else the embedded server (ARGS='…' to change it)
	$(GO) run ./cmd/lockbench $(ARGS)

test: setup ## the tests: one real server of each kind, no race detector (PKGS=./drivers/... for a part)
	$(GO) test -short $(TESTFLAGS) -p $(SUITES) -timeout 20m $(PKGS)

# Of a part of the packages the module of the browser is no part.
test-all: setup-all ## test, and what it leaves out: every combination, outages, fail-overs, ensembles, pages in a browser
	$(GO) test $(TESTFLAGS) -p $(SUITES) -timeout 20m $(PKGS)
ifeq ($(PKGS),./...)
	cd results/html/browser && $(GO) test $(TESTFLAGS) ./...
endif

# A test checks that RACEPKGS has all packages that start goroutines. Under the race detector tests take five to ten times as
# long, and the combinations that -short leaves out run the same code: make race RACEFLAGS= has them too.
RACEPKGS  ?= ./cmd/... ./drivers/... ./workloads/... ./results ./results/export ./results/history ./scripts/overhead ./scripts/recovery
RACEFLAGS ?= -short
race: setup ## the tests of all packages that start goroutines, under the race detector, in random order
	$(GO) test -race -shuffle=on $(RACEFLAGS) $(TESTFLAGS) -p $(SUITES) -timeout 30m $(RACEPKGS)

flakes: setup ## make test RUNS (20) times beside LOAD (6) busy loops, and what failed (PKGS=… for a part)
	./scripts/flakes.sh $(RUNS) $(LOAD) $(PKGS)

lint: ## gofmt, go vet here and for darwin, staticcheck, actionlint, govulncheck where its database is reachable, and shellcheck where it is installed
	./scripts/lint.sh

gate: ## scripts/gate.sh on this project itself: the last change, and a slower lock that it has to stop
	./scripts/selfgate.sh

fuzz: ## every fuzz target for FUZZTIME (5s) each
	./scripts/fuzz.sh $(PKGS)

bench: ## the Go benchmarks, ROUNDS (6) rounds, and benchstat on them (BENCH=regexp PKGS=… for a part)
	./scripts/bench.sh $(PKGS)

golden: ## rewrite the golden files with what the tests see now; read the diff before you commit it
	./scripts/golden.sh $(PKGS)

record: ## measure what README.md and BENCHMARKS.md quote, on a machine that does nothing else (ten minutes)
	./scripts/record.sh

tables: ## fill README.md and BENCHMARKS.md in from the recorded runs
	$(GO) run ./scripts/tables scripts/recorded README.md BENCHMARKS.md

setup: ## install the servers that make test talks to, as far as that is allowed
	@./scripts/setup.sh

setup-all: # and what only make test-all needs
	@./scripts/setup.sh all

clean: ## remove what the other targets have built
	rm -rf bin lockbench bench.out

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r t d; do printf '%-8s %s\n' "$$t" "$$d"; done
