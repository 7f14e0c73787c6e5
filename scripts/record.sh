#!/usr/bin/env bash
# Record the runs for BENCHMARKS.md and README.md, on an otherwise idle machine, and fill in the figures. That takes about
# an hour and a half. With names it records only those files: scripts/record.sh study.jsonl overhead.txt
# Raw files go to scripts/recorded; only this script writes there.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
out=scripts/recorded
only=" $* "

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$out"
"$go" build -buildvcs=true -o "$tmp/lockbench" ./cmd/lockbench # the revision goes into the records
wanted() { [ "$only" = "  " ] || [[ "$only" = *" $1 "* ]]; }
bench() { # FILE FLAGS…: record a run again
	wanted "$1" || return 0
	rm -f "$out/$1"
	"$tmp/lockbench" -server "${server:-private}" -quiet -o "$out/$1" "${@:2}" >/dev/null
}
text() { # FILE COMMAND…: record what a command prints, below the command itself
	wanted "$1" || return 0
	{ echo "\$ ${*:2}" && "${@:2}"; } >"$tmp/text"
	mv "$tmp/text" "$out/$1"
}

bench front-door.jsonl -driver rueidis -clients 512 -keys 10
bench uncontended.jsonl -driver rueidis,go-redis -wait none -pipelining auto,off -clients 64,512 -keys 100k -duration 3s -warmup 1s -trials 3
bench safety.jsonl -driver rueidis -clients 64 -keys 10 -duration 30s
bench overstay.jsonl -driver rueidis -lock set-nx,setnx -clients 16 -keys 1 -hold 30ms -ttl 20ms -duration 5s ||
	[ $? = 4 ] # violated, as expected

# The contention study. The cells of a file are interleaved, so that ratios within a file are fair.
trial=(-duration 1200ms -warmup 300ms -trials 3)
load=(-clients "16,64,512" -keys "1,10" -hold "0s,1ms")
bench study.jsonl -driver rueidis,redsync,redislock,rueidislock -wait queue,native -handover swap "${load[@]}" "${trial[@]}"
bench waits.jsonl -driver rueidis -wait poll,backoff,pubsub,queue,block -handover release,swap "${load[@]}" "${trial[@]}"
bench lockers.jsonl -driver rueidis,rueidislock -wait queue,native -handover release,swap -lockers 8 -clients 512 -keys 1,10 "${trial[@]}"
bench designs.jsonl -driver rueidis -wait none -clients 64 -keys 6400 "${trial[@]}" \
	-lock set-nx,setnx,setnx-expire,lua-setnx-expire,set-nx-del,set-nx-get-del,getset,reentrant-count,redisson,fenced,fair
bench topologies.jsonl -driver rueidis,go-redis -topology single,redlock,replicated,sentinel,cluster -node-timeout 500ms \
	-wait none -clients 16 -keys 1600 "${trial[@]}"
bench renew.jsonl -driver rueidis -renew=off,on -wait none -clients 64 -keys 6400 "${trial[@]}"

# The services, each with the usual locks; -wait queue works only with Redis. Every cell makes new connections, so it
# takes a while.
services=(-driver "rueidis,zookeeper,etcd,mysql,postgres" -lock "set-nx,fenced,sequential,lease,unique-row,row-lock,get-lock,advisory")
bench services.jsonl "${services[@]}" -wait auto,queue -handover swap -clients 1,16,64 -keys 1,10 -hold 0s,1ms -duration 1s -warmup 400ms -trials 3
bench durability.jsonl "${services[@]}" -durability relaxed,strict -clients 64 -keys 10 "${trial[@]}"
bench herd.jsonl -driver zookeeper -lock sequential,herd -clients 9,65,257 -duration 2s -warmup 1s -trials 3
bench handover.jsonl -driver etcd,zookeeper -lock lease,sequential -clients 1,2,8,64 -duration 2s -warmup 1s -trials 3
bench ensemble.jsonl -driver zookeeper,etcd -lock sequential,lease -topology single,ensemble -durability relaxed,strict -clients 16 -keys 10 "${trial[@]}"
text recovery.txt "$go" run ./scripts/recovery -driver rueidis,zookeeper,etcd,mysql,postgres -ttl 2s -n 5 \
	-lock set-nx,setnx,sequential,lease,unique-row,row-lock,get-lock,advisory

# Loads: the schedule of the open loop, what closed loops omit, rate steps, the presets, holders that die, and the latency
# of an unrelated client. The arrivals of a burst queue up; -n and the elapsed time tell how fast the queue drains.
open=(-driver rueidis -wait queue -handover swap -clients 64 -keys 10 -hold 1ms)
server=auto bench lag.jsonl -driver null -oracle=false -clients 64 -rate 1k,10k,50k -arrival constant,poisson -duration 3s -warmup 1s -trials 5
bench response.jsonl "${open[@]}" -rate 2k,5k,7k,8k,9k -arrival poisson -duration 4s -warmup 1s -trials 3
bench ladder.jsonl "${open[@]}" -rate ladder:2k:9k:8 -duration 32s -warmup 2s -max-queue 100k
if wanted presets.jsonl; then
	rm -f "$out/presets.jsonl"
	for preset in workloads/presets/*.yaml; do
		"$tmp/lockbench" -server private -quiet -o "$out/presets.jsonl" -duration 8s -warmup 2s \
			-driver rueidis -workload "$(basename "$preset" .yaml)" >/dev/null
	done
fi
bench crash.jsonl -driver rueidis,zookeeper,etcd,mysql,postgres -lock set-nx,fenced,sequential,lease,unique-row,row-lock,get-lock,advisory \
	-clients 40 -keys 20 -hold 1ms -crash 2% -ttl 2s -duration 8s -warmup 1s
bench overstays.jsonl -driver rueidis -lock set-nx,set-nx-del,fenced -clients 16 -keys 4 -hold 1ms -overstay 1% -ttl 50ms -duration 5s -warmup 1s ||
	[ $? = 4 ] # a design that deletes another client's lock has more violations than planted
bench probe.jsonl -driver rueidis -wait none,backoff,pubsub,queue -handover swap -clients 512 -keys 1 -probe 100 -duration 4s -warmup 1s -trials 3
bench parked.jsonl -driver memory,rueidis -lock mutex,set-nx -wait queue -keys 1 -clients 100k -burst 1h -n 100k -warmup 0s -duration 2m

# What the gate detects, and its false alarms, with the settings of .github/workflows/gate.yml. It takes three quarters of an
# hour: fifteen comparisons for each loss.
text alarms.txt "$go" run ./scripts/alarms -n 15 -drifting 500

text overhead.txt "$go" run ./scripts/overhead -rounds 9 -duration 1500ms
text watched.txt "$go" test -run '^$' -bench Live -benchtime 9x ./workloads/observe
text null-cycle.txt "$go" test -run '^$' -bench 'NullCycle|StampsAndRecords' -count 7 ./workloads
text renew.txt "$go" test -run '^$' -bench TenThousand -benchtime 50x -count 3 ./drivers/renew
make tables
