# The targets are the same here and in CI; `make help` lists them. Only Go, make and git must be installed: Go fetches
# the tools at the pinned versions below, and scripts/setup.sh installs the rest.

# The versions of the tools. That of benchstat, which the tests run too, is in go.mod.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ACTIONLINT  := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.8.0
GREMLINS    := github.com/go-gremlins/gremlins/cmd/gremlins@v0.5.0
NFPM        := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
CYCLONEDX   := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
BENCHSTAT   := golang.org/x/perf/cmd/benchstat

GO       ?= go
# SUITES is the number of packages that are tested at once, after all are built. It may exceed the number of processors,
# because many packages mostly wait for servers and leases.
PKGS     ?= ./...
PKG      ?= ./results/stats
ARGS     ?= -driver rueidis -clients 512 -keys 10 -duration 5s
FUZZTIME ?= 5s
ROUNDS   ?= 6
RUNS     ?= 20
LOAD     ?= 6
SUITES   ?= 4
# By default a process under the race detector sleeps for a second at its end, and tests start many.
GORACE   ?= atexit_sleep_ms=0
BENCH    ?= .

export GO SUITES STATICCHECK ACTIONLINT GOVULNCHECK BENCHSTAT NFPM CYCLONEDX FUZZTIME ROUNDS BENCH GORACE QUOTA TESTFLAGS

.DEFAULT_GOAL := help
.PHONY: run test test-all race flakes mutants lint gate fuzz bench golden record tables screens release setup setup-all clean help

run: ## one real run: a private redis-server if there is one, else the embedded server (ARGS='…' to change it)
	@echo "make run: compiling, which takes a minute or two the first time" >&2
	$(GO) run ./cmd/lockbench $(ARGS)

test: setup ## whether this checkout works: every package, service and design once (PKGS=./drivers/... for a part)
	./scripts/test.sh -short $(TESTFLAGS) $(PKGS)

# The modules of the browser and of the release are not among the packages: they are tested only with all of them. That of the
# release runs lockbench, which is not in its module: the cache of results sees no change of it.
test-all: setup-all ## all tests: also every combination, outages, ensembles, pages in a browser, a release
	./scripts/test.sh $(TESTFLAGS) $(PKGS)
ifeq ($(PKGS),./...)
	cd results/draw/browser && $(GO) test $(TESTFLAGS) ./...
	cd scripts/release && $(GO) test -count=1 $(TESTFLAGS) .
endif

# A test checks that RACEPKGS has all packages that start goroutines. The race detector makes tests five to ten times as
# slow, and the combinations that -short leaves out run the same code; make race RACEFLAGS= includes them. Of what breaks
# connections it has the cases of package drivertest. In a simulation one goroutine runs at a time, which has no races;
# long series, pairs of equal locks, quantiles and sums are arithmetic. ONEGOROUTINE are tests of package cli that read or
# print texts, or the sources of this project: what they start measures nothing, or is measured by other tests.
RACEPKGS  ?= ./cmd/cli ./drivers/... ./workloads ./workloads/breakable ./workloads/fleet/... ./workloads/hazards \
	./workloads/observe ./workloads/oracle ./workloads/pace ./workloads/runner ./workloads/sharing ./workloads/target ./results ./scripts/overhead
ONEGOROUTINE := ^TestScripts$$/^(compare|format|history|list|report|strangers|usage)$$|^TestHelp|^TestNothingIsSkippedEverywhere
ONEGOROUTINE := $(ONEGOROUTINE)|^TestGoroutinesRace|^TestSecretInTheWrongPlace|^TestSecretEchoed|^TestDataStartsNothing
RACEFLAGS ?= -short '-skip=^TestSim|^TestSearch$$|^TestLongSeries|^TestSameLock|^TestQuantileIs|^TestSumAddsUp|$(ONEGOROUTINE)'
race: setup ## the tests of all packages that start goroutines, under the race detector, in random order
	./scripts/test.sh -race -shuffle=on $(RACEFLAGS) $(TESTFLAGS) $(RACEPKGS)

flakes: setup ## make test in RUNS (20) fresh clones next to LOAD (6) busy loops, and list what failed (QUOTA=0.3 of a processor)
	./scripts/flakes.sh $(RUNS) $(LOAD) $(PKGS)

# A mutant may take ten times as long as all tests did. Tests that are cached take no time, hence -count=1.
mutants: ## the operators of a package, and of those below it, that can be flipped without a test that fails: LIVED (PKG=./results/stats)
	GOFLAGS='-short -count=1' $(GO) run $(GREMLINS) unleash --timeout-coefficient 10 $(PKG)

lint: ## gofmt, go vet, types for darwin, staticcheck, actionlint, govulncheck if its database is reachable, shellcheck if installed
	./scripts/lint.sh

gate: ## scripts/gate.sh on this project: the last change, and a slower lock that it must reject
	./scripts/selfgate.sh

fuzz: ## every fuzz target for FUZZTIME (5s) each
	./scripts/fuzz.sh $(PKGS)

bench: ## the Go benchmarks, ROUNDS (6) rounds, and benchstat on them (BENCH=regexp PKGS=… for a part)
	./scripts/bench.sh $(PKGS)

golden: ## rewrite the golden files with the present output; read the diff before you commit it
	./scripts/golden.sh $(PKGS)

record: ## measure the figures of README.md and BENCHMARKS.md, on an otherwise idle machine (two hours)
	./scripts/record.sh

tables: ## fill in README.md and BENCHMARKS.md from the recorded runs
	$(GO) run ./scripts/tables scripts/recorded README.md BENCHMARKS.md

screens: setup-all ## take the pictures of pages in README.md anew, in a browser
	cd results/draw/browser && CI=true $(GO) test -count=1 -run TestBrowser/screens . -update

release: ## build the release of this commit into dist/: archives, packages, an image, sums (TARGETS="linux/amd64" for a part)
	./scripts/release.sh

setup: ## install the servers for make test, if that is allowed
	@./scripts/setup.sh

setup-all: # also what only make test-all needs
	@./scripts/setup.sh all

clean: ## remove what the other targets have built
	rm -rf bin dist lockbench bench.out drivers/exec/adapters/node_modules

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r t d; do printf '%-8s %s\n' "$$t" "$$d"; done
