#!/usr/bin/env bash
# Gate this project: once on the last change, which must pass unless it makes the harness half as fast,
# and once on a lock that is a thousand times slower, which must fail.
#
# The thresholds are loose, because what runs on every change must not raise false alarms. The in-process reference lock
# needs no server.
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf 'selfgate: %s\n' "$*" >&2; }

tmp=$(mktemp -d "${TMPDIR:-/tmp}/lockbench-selfgate.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
# Flags that every version has.
flags=(-driver memory -clients 4 -keys 4 -duration 150ms -warmup 50ms)
limits=(-n 7 -fail-on 'locks/s<-50%')

"${GO:-go}" build -o "$tmp/lockbench" ./cmd/lockbench

if base=$(git rev-parse --verify --quiet 'HEAD~1^{commit}' || git rev-parse --verify --quiet 'HEAD^{commit}'); then
	code=0
	scripts/gate.sh "${limits[@]}" -allow-inconclusive -base "$base" -- "${flags[@]}" 2> >(tee "$tmp/stderr" >&2) || code=$?
	# A change that repairs the build must be able to pass.
	if [ $code = 1 ] && grep -q '^gate: the base .* does not build$' "$tmp/stderr"; then
		say 'the commit before does not build: the last one is the base'
		code=0
		scripts/gate.sh "${limits[@]}" -allow-inconclusive -base HEAD -- "${flags[@]}" || code=$?
	fi
	[ $code = 0 ] || exit $code
else
	say 'this is not a git checkout: there is no change to gate'
fi

say 'the same lock, held for 1 ms: the gate must reject it'
code=0
command="$tmp/lockbench ${flags[*]}"
"$tmp/lockbench" gate "${limits[@]}" -o "$tmp/slower" -force \
	-base-cmd "exec $command" -head-cmd "exec $command -hold 1ms" || code=$?
if [ $code != 3 ]; then
	say "exit code $code, not 3: the gate lets a lock pass that is a thousand times slower"
	exit 1
fi
say 'it passes the last change, and rejects a slower lock'
