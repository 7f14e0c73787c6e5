#!/usr/bin/env bash
# Record the runs that BENCHMARKS.md and README.md quote, on a machine that does nothing else, and fill them in.
# It takes about ten minutes. Raw files go to scripts/recorded; only this script writes there.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
out=scripts/recorded

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$out"
"$go" build -buildvcs=true -o "$tmp/lockbench" ./cmd/lockbench # the revision goes into the records
bench() { # FILE FLAGS…: record a run anew
	rm -f "$out/$1"
	"$tmp/lockbench" -quiet -o "$out/$1" "${@:2}" >/dev/null
}
text() { # FILE COMMAND…: record what a command prints, below the command itself
	{ echo "\$ ${*:2}" && "${@:2}"; } >"$out/$1"
}

bench front-door.jsonl -driver rueidis -clients 512 -keys 10
bench contended.jsonl -driver rueidis,go-redis -wait backoff,pubsub,poll -clients 64,512 -keys 10 -duration 4s -warmup 1s -trials 3
bench hold.jsonl -driver rueidis -wait backoff,pubsub,poll -clients 64,512 -keys 10 -hold 1ms -duration 4s -warmup 1s -trials 3
bench uncontended.jsonl -driver rueidis,go-redis -wait none -pipelining auto,off -clients 64,512 -keys 100k -duration 3s -warmup 1s -trials 3
bench safety.jsonl -driver rueidis -clients 64 -keys 10 -duration 30s
bench overstay.jsonl -driver rueidis -lock set-nx,setnx -clients 16 -keys 1 -hold 30ms -ttl 20ms -duration 5s ||
	[ $? = 4 ] # violated, as it has to be
text overhead.txt "$go" run ./scripts/overhead -rounds 9 -duration 2s
text null-cycle.txt "$go" test -run '^$' -bench 'NullCycle|StampsAndRecords' -count 7 ./workloads
make tables
