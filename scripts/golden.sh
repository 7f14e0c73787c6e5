#!/usr/bin/env bash
# Rewrite the golden files of the named packages: run the tests that have an -update flag with that flag.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}

found=()
while read -r dir package; do
	if grep -qsE 'flag\.Bool(Var)?\(.*"update"' "$dir"/*_test.go; then
		found+=("$package")
	fi
done < <("$go" list -f '{{.Dir}} {{.ImportPath}}' "${@:-./...}")
if [ ${#found[@]} -gt 0 ]; then
	"$go" test -count=1 "${found[@]}" -update
fi
git status --short
