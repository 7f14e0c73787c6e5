#!/usr/bin/env bash
# Run the Go benchmarks of the named packages and summarise them with benchstat. BENCHSTAT comes from the Makefile.
#
# The rounds are interleaved: one observation of every benchmark, then the next one of each. go test's own -count
# takes all observations of a benchmark in a row, so that other activity of the machine looks like a property of that
# benchmark.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
out=${OUT:-bench.out}

: >"$out"
for round in $(seq "${ROUNDS:-6}"); do
	echo "bench: round $round of ${ROUNDS:-6}" >&2
	# One package at a time (-p 1): benchmarks that run side by side measure each other.
	"$go" test -run '^$' -bench "${BENCH:-.}" -benchmem -count=1 -p 1 "${@:-./...}" >>"$out" || {
		tail -n 30 "$out" >&2
		exit 1
	}
done
if ! grep -q '^Benchmark' "$out"; then
	echo "bench: there are no benchmarks" >&2
	exit 0
fi
"$go" run "${BENCHSTAT:?run it through make bench}" "$out"
