#!/usr/bin/env bash
# Look for flaky tests: run all tests RUNS times next to LOAD busy loops, and print which ones fail and how often.
#
#   scripts/flakes.sh [RUNS [LOAD [PACKAGE…]]]      20 runs of all packages next to 6 loops
#
# FLAGS are for go test (-short, as in make test). Exit code 1 if anything failed; the output of each run that did is kept.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-20} load=${2:-6}
shift $(($# < 2 ? $# : 2))
go=${GO:-go}
read -ra flags <<<"${FLAGS:--short}"
for n in "$runs" "$load"; do
	case $n in
	'' | *[!0-9]*) echo "flakes: $n is not a number: scripts/flakes.sh [RUNS [LOAD [PACKAGE…]]]" >&2 && exit 2 ;;
	esac
done

out=$(mktemp -d "${TMPDIR:-/tmp}/lockbench-flakes.XXXXXX")
loops=()
finish() { # kills only processes of this script
	[ ${#loops[@]} = 0 ] || kill "${loops[@]}" 2>/dev/null || true
}
trap finish EXIT
trap 'exit 130' INT TERM HUP
parent=$$
for ((i = 0; i < load; i++)); do
	# Each loop checks now and then whether the script is alive, because a killed script cannot end its loops.
	(trap - EXIT && while kill -0 "$parent" 2>/dev/null; do for ((j = 0; j < 200000; j++)); do :; done; done) &
	loops+=($!)
done

failed=0
for ((run = 1; run <= runs; run++)); do
	began=$SECONDS
	if "$go" test -count=1 -timeout 60m -p "${SUITES:-4}" "${flags[@]}" "${@:-./...}" >"$out/$run" 2>&1; then
		echo "flakes: run $run of $runs passed after $((SECONDS - began)) s" >&2
		rm "$out/$run"
	else
		failed=$((failed + 1))
		echo "flakes: run $run of $runs FAILED after $((SECONDS - began)) s: $out/$run" >&2
	fi
done

if [ $failed = 0 ]; then
	rmdir "$out"
	echo "flakes: nothing failed in $runs runs next to $load busy loops" >&2
	exit 0
fi
echo "flakes: $failed of $runs runs next to $load busy loops failed; how often each test did:" >&2
cat "$out"/* | sed -n 's/^ *--- FAIL: \([^ ]*\).*/\1/p; s/^\(panic: .*\)/\1/p; s/^FAIL\t\([^\t]*\)\t\[\(.*\)\]$/\1: \2/p' | sort | uniq -c | sort -rn
exit 1
