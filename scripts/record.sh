#!/usr/bin/env bash
# Record the runs for BENCHMARKS.md and README.md, on an otherwise idle machine, and fill in tables, charts and pictures.
# That takes about two hours. With names it records only those files: scripts/record.sh services.jsonl overhead.txt
# Records go to scripts/recorded, compressed; only this script, scripts/tables and make screens write there.
set -euo pipefail
for name; do
	case $(<"$0") in
	*"bench $name "* | *"plan $name "* | *"text $name "* | *"wanted $name;"*) ;;
	*) echo "record.sh: no run makes $name" >&2 && exit 2 ;;
	esac
done
cd "$(dirname "$0")/.."
go=${GO:-go}
out=scripts/recorded
export NODE_PATH=$PWD/drivers/exec/adapters/node_modules
only=" $* "

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$out"
"$go" build -buildvcs=true -o "$tmp/lockbench" ./cmd/lockbench # the revision goes into the records
at=(-addr private)
wanted() { [ "$only" = "  " ] || [[ "$only" = *" $1 "* ]]; }
bench() { # FILE FLAGS…: record a run again, and its command
	wanted "$1" || return 0
	measure "$@"
	keep "$1"
	note lockbench "$@"
}
keep() { # FILE: keep what was measured
	gzip -9n "$tmp/$1"
	mv "$tmp/$1.gz" "$out"
}
plan() { # FILE FLAGS…: record the answer of a plan, and its command
	wanted "$1" || return 0
	"$tmp/lockbench" plan "${at[@]}" -quiet -format "json=$out/$1" "${@:2}" || [ $? -ge 3 ]
	note "lockbench plan" "$@"
}
measure() { # FILE FLAGS…: append a run; a violation is a result
	"$tmp/lockbench" "${at[@]}" -quiet -o "$tmp/$1" "${@:2}" >/dev/null || [ $? = 4 ]
}
note() { # COMMAND FILE FLAGS…: note the command that made the file
	{ grep -v "^$2: " "$out/commands.txt" || true; echo "$2: $1 ${at[*]} ${*:3}" | tr -s " "; } 2>/dev/null |
		sort >"$tmp/commands"
	mv "$tmp/commands" "$out/commands.txt"
}
text() { # FILE COMMAND…: record what a command prints, below the command itself; a pipeline is one word
	wanted "$1" || return 0
	{ echo "\$ ${*:2}" && if [ $# = 2 ]; then eval "$2"; else "${@:2}"; fi; } >"$tmp/text"
	mv "$tmp/text" "$out/$1"
}

bench front-door.jsonl -driver rueidis -clients 512 -keys 10

# Which lock? Each service, library and quorum with its usual locks under one load. The cells of a file are interleaved,
# so that ratios within a file are fair.
locks=(-driver "rueidis,rueidis@redlock,redsync,redsync@redlock,redislock,rueidislock,zookeeper,etcd,mysql,postgres"
	-lock "set-nx,fenced,library,sequential,lease,unique-row,row-lock,get-lock,advisory")
bench services.jsonl "${locks[@]}" -wait auto,queue -handover swap -clients 64 -keys 10 -hold 0s,1ms -duration 1s -warmup 400ms -trials 9
bench crash.jsonl "${locks[@]}" -wait auto,queue -handover swap -clients 40 -keys 20 -hold 1ms -crash 2% -ttl 2s -duration 8s -warmup 1s
bench durability.jsonl -driver rueidis,zookeeper,etcd,mysql,postgres -lock "${locks[3]}" \
	-durability relaxed,strict -clients 64 -keys 10 -duration 1200ms -warmup 300ms -trials 3

trial=(-duration 1200ms -warmup 300ms -trials 3)
bench waits.jsonl -driver rueidis -wait poll,backoff,pubsub,queue,block -handover swap -clients 1,8,64,512 -keys 10 -hold 0s,1ms "${trial[@]}"
bench libraries.jsonl -driver rueidis,redsync,redislock,rueidislock -wait queue,native -handover swap -clients 16,64,512 -keys 10 -hold 0s,1ms "${trial[@]}"
languages=redislock,redsync,rueidislock,redis-py,node-redlock,sesamecare-redlock,redis-semaphore,kazoo,curator
bench languages.jsonl -driver "$languages" -wait native -clients 64 -keys 1,10 -hold 0s,1ms -duration 5s -warmup 500ms -trials 3
at=() # they need no server
bench bridge.jsonl -driver go-null,node-null,python-null,java-null -wait none -clients 1,64 -keys 64 -oracle=false "${trial[@]}"
at=(-addr private)
bench lockers.jsonl -driver rueidis,rueidislock -wait queue,native -handover release,swap -lockers 2,8,32 -clients 512 -keys 1,10 "${trial[@]}"
bench processes.jsonl -driver rueidis,rueidislock -wait queue,native -handover release,swap -lockers 1,2,4,8 -processes 1,2,4,8 -clients 64 -keys 1 -hold 1ms "${trial[@]}"
bench herd.jsonl -driver zookeeper -lock sequential,herd -clients 3,9,33,65,257 -duration 2s -warmup 1s -trials 3
bench ensemble.jsonl -driver zookeeper,etcd -lock sequential,lease -topology single,ensemble -durability relaxed,strict -clients 16 -keys 10 "${trial[@]}"

# What a lock costs when clients seldom meet: designs, topologies, renewal, and the client libraries.
bench designs.jsonl -driver rueidis -wait none -clients 64 -keys 6400 "${trial[@]}" \
	-lock set-nx,setnx,setnx-expire,lua-setnx-expire,set-nx-del,set-nx-get-del,getset,reentrant-count,redisson,fenced,fair
bench topologies.jsonl -driver rueidis,go-redis -topology single,redlock,replicated,sentinel,cluster -node-timeout 500ms \
	-wait none -clients 16 -keys 1600 "${trial[@]}"
bench renew.jsonl -driver rueidis -renew=off,on -wait none -clients 64 -keys 6400 -hold 20ms -ttl 30ms "${trial[@]}"
batches=(-driver rueidis -pipelining batch -rate 0,100k -arrival poisson -duration 1500ms -warmup 1s -trials 7)
bench scale.jsonl "${batches[@]}" -wait none -clients 512,10k,100k -keys 100k -key-dist own
bench scale-line.jsonl "${batches[@]}" -wait queue -handover swap -clients 1k,10k,100k -keys 1k
bench uncontended.jsonl -driver rueidis,go-redis -wait none -pipelining auto,off -clients 64,512 -keys 100k "${trial[@]}"

# Loads: the schedule of the open loop, what closed loops omit, the presets, and the latency of an unrelated client.
at=() # they need no server
bench lag.jsonl -driver null -oracle=false -clients 64 -rate 1k,10k,50k -arrival constant,poisson -duration 2s -warmup 1s -trials 5
at=(-addr private)
bench response.jsonl -driver rueidis -wait queue -handover swap -clients 64 -keys 10 -hold 1ms \
	-rate 2k,4k,6k,7k,8k,8500,9k -arrival poisson -duration 4s -warmup 1s -trials 3
if wanted presets.jsonl; then
	for preset in workloads/presets/*.yaml; do
		measure presets.jsonl -driver rueidis -workload "$(basename "$preset" .yaml)" -duration 8s -warmup 2s
	done
	keep presets.jsonl
	note lockbench presets.jsonl -driver rueidis -workload PRESET -duration 8s -warmup 2s
fi
bench probe.jsonl -driver rueidis -wait none,backoff,pubsub,queue -handover swap -clients 512 -keys 1 -probe 100 -duration 3s -warmup 1s -trials 3
bench parked.jsonl -driver memory,rueidis -lock mutex,set-nx -wait queue -keys 1 -clients 100k -burst 1h -n 100k -warmup 0s -duration 2m

# Safety: a long run without a fault, and holds that outlast their lease.
bench safety.jsonl -driver rueidis -clients 64 -keys 10 -duration 30s
bench overstay.jsonl -driver rueidis -lock set-nx,setnx -clients 16 -keys 1 -hold 30ms -ttl 20ms -duration 5s
bench natural.jsonl -driver rueidis -lock set-nx-get-del,set-nx -clients 64 -keys 32 -hold uniform:0s:10ms -ttl 10ms -wait poll:200us -duration 20s

# Capacity: one plan.
plan plan.json -rate 3k -keys 10 -hold 1ms -slo 'response.p99<20ms' -driver rueidis,postgres,etcd

text prove.txt "$go" run ./cmd/lockbench prove -quiet -format "table,json=$out/prove.json"
! wanted prove.txt || gzip -9nf "$out/prove.json"
text languages.txt "$go run ./cmd/lockbench prove -quiet -driver $languages -format table,json=$out/languages.json || true"
! wanted languages.txt || gzip -9nf "$out/languages.json"
text overhead.txt "$go" run ./scripts/overhead -rounds 9 -duration 1500ms
text watched.txt "$go" test -run '^$' -bench Live -benchtime 9x ./workloads/observe
text pace.txt "$go" test -run '^$' -bench Lag -benchtime 9x ./workloads/pace
text null-cycle.txt "$go" test -run '^$' -bench 'Null|StampsAndRecords' -count 7 ./workloads
make tables screens
