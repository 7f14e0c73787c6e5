#!/usr/bin/env bash
# Fuzz every target of the named packages for FUZZTIME each: go test takes one target of one package at a time.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}

count=0
for package in $("$go" list "${@:-./...}"); do
	# The list also has a line "ok" with the package, or a note that there are no tests.
	for target in $("$go" test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "fuzz: $package $target"
		"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-5s}" "$package"
		count=$((count + 1))
	done
done
echo "fuzz: $count targets"
