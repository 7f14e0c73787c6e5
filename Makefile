# The same targets here and in CI; `make help` lists them. Nothing but Go, make and git has to be there: what else is
# needed is either fetched by Go at the pinned versions below or installed by scripts/setup.sh.

# Versions of the tools, in this one place; that of benchstat, which the tests run too, is in go.mod.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ACTIONLINT  := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
BENCHSTAT   := golang.org/x/perf/cmd/benchstat

GO       ?= go
# SUITES is how many packages are tested at once: many of them wait for servers and leases most of the time, so that it is
# more than a small machine has processors.
PKGS     ?= ./...
ARGS     ?= -driver rueidis -clients 512 -keys 10 -duration 5s
FUZZTIME ?= 5s
ROUNDS   ?= 6
SUITES   ?= 4
BENCH    ?= .

export GO STATICCHECK ACTIONLINT BENCHSTAT FUZZTIME ROUNDS BENCH

.DEFAULT_GOAL := help
.PHONY: run test race plain nested lint gate fuzz bench golden record tables setup clean help

run: ## one real run: a private redis-server if there is one, else the embedded server (ARGS='…' to change it)
	$(GO) run ./cmd/lockbench $(ARGS)

test: setup ## the whole test suite, under the race detector (PKGS=./drivers/... for a part)
	@$(MAKE) --no-print-directory plain
	$(GO) test -race $(SHORT) -p $(SUITES) -timeout 20m $(PKGS)
	@$(MAKE) --no-print-directory nested

# Under the race detector tests take five to ten times as long, and a few compute much that it has no need to see. They do
# less of it with -short, and all of it without the detector. Of a part of the packages nothing is left out.
SHORT = $(if $(filter ./...,$(PKGS)),-short)
plain: # what -short leaves out, without the race detector
ifeq ($(PKGS),./...)
	$(GO) test ./results/stats ./scripts/tables
	$(GO) test -run '^(TestEmbeddedConformance|TestBooksAddUp)$$' ./drivers/redis ./drivers/quorum ./workloads
endif

race: ## like test, but every test anew, whatever the cache holds, and in random order
	$(GO) test -race -count=1 -shuffle=on -p $(SUITES) -timeout 30m $(PKGS)
	@$(MAKE) --no-print-directory nested NESTEDARGS='-count=1 -shuffle=on'

# Of a part of the packages it is no part.
nested: # the tests of modules within this one, which ./... does not mean
ifeq ($(PKGS),./...)
	cd results/html/browser && $(GO) test -race $(NESTEDARGS) ./...
endif

lint: ## gofmt, go vet here and for darwin, staticcheck, actionlint, and shellcheck where it is installed
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

setup: ## install the servers that the tests talk to, as far as that is allowed
	@./scripts/setup.sh

clean: ## remove what the other targets have built
	rm -rf bin lockbench bench.out

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r t d; do printf '%-8s %s\n' "$$t" "$$d"; done
