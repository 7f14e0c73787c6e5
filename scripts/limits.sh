#!/usr/bin/env bash
# Plant what limits a load, one limit after the other, and check that lockbench names it. It takes a minute; ROUNDS=7 takes the
# verdict of most of seven rounds. It needs an idle machine, redis-server and ZooKeeper.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$(mktemp)
trap 'rm -f "$bin"' EXIT
"${GO:-go}" build -o "$bin" ./cmd/lockbench
failed=0
plant() { # LIMIT WHAT FLAGS…
	local want=$1 what=$2 found
	shift 2
	found=$(for _ in $(seq "${ROUNDS:-1}"); do
		"$bin" "$@" -duration 2s -warmup 1s -quiet -format csv |
			awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "limited-by") at = i } NR == 2 { print $at }'
	done | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
	if [ "$found" = "$want" ]; then
		echo "✓ $what: $found"
	else
		echo "✗ $what: $found, want $want" && failed=1
	fi
}
rueidis=(-driver rueidis -wait none)
GOMAXPROCS=1 plant generator "lockbench has one processor" -driver go-redis -clients 512 -keys 10240 -wait none
plant connections "two connections for 64 clients" -driver go-redis -pipelining off -conns 2 -clients 64 -keys 1280 -wait none
plant key "holds of 5 ms on one key" -driver rueidis -clients 8 -keys 1 -hold 5ms -wait queue
plant clients "four clients that hold for 1 ms" "${rueidis[@]}" -clients 4 -keys 400 -hold 1ms
plant rate "arrivals at 500 a second" "${rueidis[@]}" -clients 16 -keys 1600 -rate 500
plant lease "holders that die, with leases of 300 ms" -driver rueidis -clients 16 -keys 4 -hold 1ms -ttl 300ms -crash 20% -wait poll
plant machine "ZooKeeper on the cores of lockbench" -driver zookeeper -clients 256 -keys 10240 -wait none
exit $failed
