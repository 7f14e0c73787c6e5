#!/usr/bin/env bash
# Check the code without running it. STATICCHECK, ACTIONLINT and GOVULNCHECK come from the Makefile.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}

gofmt=$("$go" env GOROOT)/bin/gofmt # of the same version as go
unformatted=$("$gofmt" -l cmd drivers results scripts workloads)
if [ -n "$unformatted" ]; then
	printf 'gofmt: not formatted:\n%s\n' "$unformatted" >&2
	exit 1
fi

if git grep -nE '^(<<<<<<<|>>>>>>>) ' -- .; then
	echo "lint: a merge has left its marks" >&2
	exit 1
fi

export GOGC=400 # memory for time: the compiler and staticcheck spend a fifth of theirs on collecting garbage
"$go" vet ./...
"$go" run ./scripts/typecheck darwin arm64 ./... # code for macOS must at least compile
"$go" run "${STATICCHECK:?run it through make lint}" ./...
"$go" run "${ACTIONLINT:?run it through make lint}" .github/workflows/*.yml

# Modules within this one, which ./... does not include.
for module in results/draw/browser scripts/release; do
	(cd "$module" && "$go" vet ./... && "$go" run "$STATICCHECK" ./...)
done

if command -v shellcheck >/dev/null; then
	shellcheck scripts/*.sh .github/actions/*/*.sh .ci/run
fi

# Vulnerabilities in code that is called. The database is on the network, or at GOVULNDB. If it cannot be reached, that is
# not a failure, not even with CI=true, because nothing that can be installed replaces it.
db=${GOVULNDB:-https://vuln.go.dev}
if curl -sf --max-time 5 -o /dev/null "$db/index/db.json" 2>/dev/null; then
	limit=$(command -v timeout || true) # macOS has none
	if ! found=$(${limit:+"$limit" 5m} "$go" run "${GOVULNCHECK:?run it through make lint}" -db "$db" ./... 2>&1); then
		printf 'govulncheck:\n%s\n' "$found" >&2
		exit 1
	fi
else
	echo "lint: vulnerabilities were not checked: their database cannot be reached" >&2
fi
