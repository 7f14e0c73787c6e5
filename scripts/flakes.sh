#!/usr/bin/env bash
# Look for flaky tests: make test in RUNS fresh clones of HEAD, one after the other, next to LOAD busy loops. It prints the
# figures of each run, and in the end which tests have failed and how often. The test binaries are built before the loops begin.
#
#   scripts/flakes.sh [RUNS [LOAD [PACKAGE…]]]      20 runs of all packages next to 6 loops
#
# QUOTA is the CPU time that make test gets, in processors (0.3), by a control group: it needs root. TESTFLAGS are for the
# tests, as in make test. Exit code 1 if anything failed; the output of each run that did is kept.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-20} load=${2:-6}
shift $(($# < 2 ? $# : 2))
for n in "$runs" "$load"; do
	case $n in
	'' | *[!0-9]*) echo "flakes: $n is not a number: scripts/flakes.sh [RUNS [LOAD [PACKAGE…]]]" >&2 && exit 2 ;;
	esac
done

out=$(mktemp -d "${TMPDIR:-/tmp}/lockbench-flakes.XXXXXX")
loops=() group=''
new_clone() { # at the same place each time, with the test binaries, so that none is linked again
	git clone -q . "$out/clone"
	[ ! -d "$out/bin" ] || cp -a "$out/bin" "$out/clone/bin"
}
finish() { # ends only processes of this script
	[ ${#loops[@]} = 0 ] || kill "${loops[@]}" 2>/dev/null || true
	[ -z "$group" ] || rmdir "$group" || true
	rm -rf "$out/clone" "$out/bin" "$out/build"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP
new_clone # the load is for the tests: beside twenty loops the compiler alone takes half an hour
(cd "$out/clone" && "${GO:-go}" test -c -vet=off -o bin/test/ "${@:-./...}") >"$out/build" 2>&1 || true # the runs tell what fails
[ ! -d "$out/clone/bin" ] || mv "$out/clone/bin" "$out/bin"
rm -rf "$out/clone"
parent=$$
for ((i = 0; i < load; i++)); do
	# Each loop checks now and then whether the script is alive, because a killed script cannot end its loops.
	(trap - EXIT && while kill -0 "$parent" 2>/dev/null; do for ((j = 0; j < 200000; j++)); do :; done; done) &
	loops+=($!)
done

if [ -n "${QUOTA:-}" ]; then
	top=/sys/fs/cgroup period=100000
	quota=$(awk "BEGIN { print int($QUOTA * $period) }")
	if [ -d $top/cpu ]; then # version 1
		group=$(mktemp -d $top/cpu/lockbench.XXXXXX)
		echo "$quota" >"$group/cpu.cfs_quota_us"
		echo 65536 >"$group/cpu.shares" # the quota is to be the limit: a group weighs as much as one busy loop
	else
		echo +cpu >$top/cgroup.subtree_control
		group=$(mktemp -d $top/lockbench.XXXXXX)
		echo "$quota $period" >"$group/cpu.max"
		echo 10000 >"$group/cpu.weight"
	fi
fi

test_clone() {
	new_clone
	[ -z "$group" ] || echo "$BASHPID" >"$group/cgroup.procs"
	make -C "$out/clone" test PKGS="${*:-./...}"
}

failed=0
TIMEFORMAT='%0R %0U %0S'
for ((run = 1; run <= runs; run++)); do
	result=passed
	{ time (test_clone "$@" >"$out/$run" 2>&1) || result=FAILED; } 2>"$out/time"
	read -r wall user system <"$out/time"
	average=$(cut -d ' ' -f 1 /proc/loadavg 2>/dev/null) || average='?'
	[ $result = passed ] || failed=$((failed + 1))
	echo "flakes: run $run of $runs $result: $wall s, $((user + system)) CPU s, load $average" >&2
	[ $result = FAILED ] || rm "$out/$run"
	rm -rf "$out/clone" "$out/time"
done

rm -rf "$out/bin" "$out/build"
if [ $failed = 0 ]; then
	rmdir "$out"
	echo "flakes: nothing failed in $runs runs next to $load busy loops${QUOTA:+ with $QUOTA processors}" >&2
	exit 0
fi
echo "flakes: $failed of $runs runs next to $load busy loops failed; their output is in $out; how often each test did:" >&2
cat "$out"/* | sed -n 's/^ *--- FAIL: \([^ ]*\).*/\1/p; s/^\(panic: .*\)/\1/p; s/^FAIL\t\([^\t]*\)\t\[\(.*\)\]$/\1: \2/p' | sort | uniq -c | sort -rn
exit 1
