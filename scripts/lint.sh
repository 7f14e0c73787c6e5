#!/usr/bin/env bash
# Check form and find mistakes without running anything. STATICCHECK and ACTIONLINT come from the Makefile.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}

gofmt=$("$go" env GOROOT)/bin/gofmt # of the same version as go
unformatted=$("$gofmt" -l cmd drivers results scripts workloads)
if [ -n "$unformatted" ]; then
	printf 'gofmt: not formatted:\n%s\n' "$unformatted" >&2
	exit 1
fi

"$go" vet ./...
# Developers sit at Macs as well, and what is built there only must compile.
GOOS=darwin "$go" vet ./...
"$go" run "${STATICCHECK:?run it through make lint}" ./...
"$go" run "${ACTIONLINT:?run it through make lint}" .github/workflows/*.yml

# A module within this one, which ./... does not mean.
(cd results/html/browser && "$go" vet ./... && "$go" run "$STATICCHECK" ./...)

if command -v shellcheck >/dev/null; then
	shellcheck scripts/*.sh .ci/run
fi
