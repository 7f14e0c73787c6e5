#!/usr/bin/env bash
# go test in two steps: build all test binaries, then run them. A test that runs next to compilers and linkers meets
# time-outs that say nothing about the code.
#
#   scripts/test.sh [FLAG…] [PACKAGE…]      FLAGs of go test, for all packages unless some are named
#
# It prints what go test prints. SUITES packages are tested at once. bin/ keeps the binaries, so that only those that have
# changed are linked again; go vet is left to make lint, and results are not cached.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}

build=() run=(-test.paniconexit0 -test.timeout=30m) packages=() bin=$PWD/bin/test
while [ $# -gt 0 ]; do
	case $1 in
	--*) set -- "${1#-}" "${@:2}" && continue ;;
	-race) build+=("$1") && bin=$PWD/bin/race && export CGO_ENABLED=1 ;; # the race detector needs cgo
	-cover | -covermode=* | -coverpkg=* | -tags=* | -mod=* | -x) build+=("$1") ;;
	-tags | -mod) build+=("$1" "$2") && shift ;;
	-bench | -benchtime | -count | -cpu | -list | -parallel | -run | -shuffle | -skip | -timeout) run+=("-test.${1#-}=$2") && shift ;;
	-*) run+=("-test.${1#-}") ;;
	*) packages+=("$1") ;;
	esac
	shift
done
[ ${#packages[@]} -gt 0 ] || packages=(./...)

mkdir -p "$bin"
# Without tables for debuggers, as go test links too; and with memory for time.
GOGC=400 "$go" test -c -vet=off '-ldflags=-s -w' -o "$bin/" ${build[@]+"${build[@]}"} "${packages[@]}" ||
	{ echo "FAIL	[build failed]" && exit 1; }
tested=() # the import path and the directory of each package that has tests
while read -r line; do
	tested+=("$line")
done < <("$go" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' "${packages[@]}")

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
mkfifo "$out/turns"
exec 3<>"$out/turns"
TIMEFORMAT=%R

one() { # IMPORT-PATH DIR OUTPUT: tests a package, and writes what go test would print
	local code=0 took note=''
	cd "$2"
	took=$({ time "$bin/${1##*/}.test" "${run[@]}" </dev/null >"$3.all" 2>&1 3>&- || code=$?; echo "$code" >"$3.code"; } 2>&1)
	code=$(<"$3.code")
	if [ "$code" != 0 ]; then
		cat "$3.all"
		tail -n 1 "$3.all" | grep -q '^FAIL' || echo "exit status $code"
		printf 'FAIL\t%s\t%ss\n' "$1" "$took"
		return
	fi
	case " ${run[*]}" in *" -test.v"* | *" -test.bench"* | *" -test.list"*) cat "$3.all" ;; esac
	grep -q '^testing: warning: no tests to run' "$3.all" && note=' [no tests to run]'
	printf 'ok  \t%s\t%ss%s\n' "$1" "$took" "$note"
}

for ((i = 0; i < ${SUITES:-4}; i++)); do echo >&3; done
# Those with the most tests take longest, and begin first. Conformance waits for leases to end, so it counts for more.
weight() { # DIR
	local bytes
	bytes=$(cat "$1"/*_test.go | wc -c)
	if grep -qs 'func Test.*Conformance' "$1"/*_test.go; then bytes=$((3 * bytes)); fi
	echo "$bytes"
}
for i in $(for i in "${!tested[@]}"; do echo "$(weight "${tested[i]#* }") $i"; done | sort -rn | cut -d ' ' -f 2); do
	read -r path dir <<<"${tested[i]}"
	{
		read -r -u 3
		one "$path" "$dir" "$out/$i" >"$out/$i" 2>&1 || true
		echo >&3
	} &
	jobs[i]=$!
done
failed=''
for i in "${!tested[@]}"; do # in their order, as go test does
	wait "${jobs[i]}" || true
	cat "$out/$i"
	[ "$(<"$out/$i.code")" = 0 ] || failed=yes
	rm -f "$out/$i" "$out/$i".*
done
[ -z "$failed" ] || { echo FAIL && exit 1; }
