#!/usr/bin/env bash
# Gate a change: build two revisions, and let lockbench gate measure them by turns and exit with its verdict.
#
#   scripts/gate.sh -base REF [-head REF] [OPTION…] -- LOCKBENCH-FLAG…
#
# It builds lockbench from two revisions of the current repository (without -head, the second is the working tree) and
# runs both with the same flags. It needs bash, git and Go, and refuses to run with a GITHUB_TOKEN or a GH_TOKEN, which
# what it runs could read. What needs no build: lockbench gate -base-cmd 'CMD' -head-cmd 'CMD'.
#
#   -source VERSION|DIR   of lockbench, when this is the repository of a Go library that lockbench measures: each side is a
#                         lockbench of that version (v0.1.0) or that directory, built with that side's library
#   -build CMD            builds a revision in another way: sh runs it in $TREE, and it makes the program $OUT
#                         (CGO_ENABLED=0 go build -trimpath -o "$OUT" ./cmd/lockbench); so for a service of your own
#   -lockbench PROGRAM    the one that compares (that of the head)
#   -n N -fail-on LIST -force -allow-inconclusive -o DIR   as in lockbench gate
#
# Exit codes: those of lockbench gate.
set -euo pipefail

say() { printf 'gate: %s\n' "$*" >&2; }
die() { # CODE WORD…
	say "${*:2}"
	exit "$1"
}
usage() { die 2 "$* (gate.sh -h explains)"; }

base='' head='' head_at='' build='' source='' judge=''
options=() # of lockbench gate

parse() {
	local flag value
	while [ $# -gt 0 ]; do
		flag=$1
		shift
		case $flag in
		--) break ;;
		--?*) flag=${flag#-} ;;
		-?*) ;;
		*) usage "unexpected argument $flag: the flags of lockbench come after --" ;;
		esac
		case $flag in # the switches
		-h | -help) sed -n '2,/^set /{s/^# \{0,1\}//;/^set /d;p;}' "$0" && exit 0 ;;
		-force | -allow-inconclusive) options+=("$flag") && continue ;;
		esac
		case $flag in
		*=*) value=${flag#*=} flag=${flag%%=*} ;;
		*)
			[ $# -gt 0 ] || usage "$flag needs a value, or is no flag"
			value=$1
			shift
			;;
		esac
		[ -n "$value" ] || usage "$flag is empty"
		case $flag in
		-base) base=$value ;;
		-head) head=$value ;;
		-build) build=$value ;;
		-source) source=$value ;;
		-lockbench) judge=$value ;;
		-n | -o | -fail-on) options+=("$flag" "$value") ;;
		*) usage "unknown flag $flag" ;;
		esac
	done
	flags=("$@")
	[ -n "$base" ] || usage 'which base? -base REF'
	[ -z "$build" ] || [ -z "$source" ] || usage '-build and -source are two ways to build: give one'
	[ $# -gt 0 ] || usage 'what is to be measured? give flags of lockbench after --'
	for flag in "$@"; do
		case ${flag/#--/-} in
		-o | -o=* | -output* | -seed* | -trials* | -revision* | -fail-on* | -force* | -allow-inconclusive | -vs* | -baseline* | -dry-run*)
			usage "$flag after --: the gate measures and compares by itself" ;;
		esac
	done
	if [ "$(module_of "$source/go.mod")" = "$lockbench" ]; then
		source=$(cd "$source" && pwd)
	elif ! [[ $source =~ ^(|v[0-9]+\.[0-9]+\.[0-9].*)$ ]]; then # which both sides and later runs have
		usage "-source $source: must be a version such as v0.1.0, or a directory with the source of lockbench"
	fi
	# A variable that this script unsets stays in its /proc/PID/environ, which its children may read.
	[ -z "${GITHUB_TOKEN-}${GH_TOKEN-}" ] || die 2 'GITHUB_TOKEN or GH_TOKEN is set, and what is measured could read it: unset it first'
}

lockbench=github.com/lockbench/lockbench

module_of() { # GO.MOD: the path of its module
	sed -n 's/^module[[:blank:]]*"\{0,1\}\([^[:blank:]"]*\).*/\1/p' "$1" 2>/dev/null || true
}

tmp='' root='' stopped=''
job() { # COMMAND…: run it in its own process group, so that only this script passes a signal on, once
	local code=0 child
	set -m
	"$@" </dev/null &
	child=$!
	set +m
	wait "$child" || code=$?
	while kill -0 "$child" 2>/dev/null; do wait "$child" || code=$?; done # a signal ends a wait
	[ -z "$stopped" ] || kill -KILL -- "-$child" 2>/dev/null || true # what a shell has left
	return "$code"
}

interrupted() {
	local child
	stopped=yes
	for child in $(jobs -p); do kill -TERM -- "-$child" 2>/dev/null || true; done # even if it has just begun
}

clean_up() {
	for side in base head; do
		[ ! -d "$tmp/$side" ] || git -C "$root" worktree remove --force "$tmp/$side" || true
	done
	rm -rf "$tmp"
}

revision_of() { # FLAG REF: its hash, also that of a branch that only origin has
	git rev-parse --verify --quiet "$2^{commit}" || git rev-parse --verify --quiet "refs/remotes/origin/$2^{commit}" ||
		usage "$1 $2: there is no such commit here; if the clone is shallow: git fetch --unshallow, or fetch-depth: 0"
}

build_one() { # SIDE COMMIT NAME: build the commit, or the working tree if it is empty
	local tree=${2:+$tmp/$1} code=0
	say "building the $1: $3"
	[ -z "$tree" ] || git -C "$root" -c core.hooksPath=/dev/null worktree add --quiet --detach "$tree" "$2"
	tree=${tree:-$root}
	if [ -z "$build$source" ] && [ ! -d "$tree/cmd/lockbench" ]; then
		usage "the $1 ($3) has no cmd/lockbench: give -source if it is a library, or say with -build how it is built"
	fi
	job compile "$tree" "$tmp/$1.program" || code=$?
	[ -z "$stopped" ] || exit 130
	[ -z "$source" ] || [ $code != 2 ] || exit 2 # it has said why
	[ $code = 0 ] || die 1 "the $1 ($3) does not build"
	[ -x "$tmp/$1.program" ] || die 1 "-build has made no program \$OUT of the $1"
}

compile() { # TREE PROGRAM
	cd "$1"
	exec >&2
	export GOTMPDIR=$tmp # an interrupted compiler leaves its directory behind
	if [ -n "$build" ]; then TREE=$1 OUT=$2 exec sh -c "$build"; fi
	export CGO_ENABLED=0 # as releases are built: what one has compiled, the other need not; -trimpath: nor another directory
	if [ -n "$source" ]; then compile_with "$1" "$2"; else exec "${GO:-go}" build -trimpath -o "$2" ./cmd/lockbench; fi
}

compile_with() { # LIBRARY PROGRAM: lockbench, in a module of its own that takes the library's modules from here
	local go=${GO:-go} file module used
	mkdir "$2.module"
	cd "$2.module"
	export GOFLAGS="${GOFLAGS:-} -mod=mod" GOWORK=off
	"$go" mod init gate.invalid/lockbench 2>/dev/null
	while IFS= read -r -d '' file; do # a repository may have several modules
		module=$(module_of "$1/$file")
		[ -z "$module" ] || "$go" mod edit "-replace=$module=$(dirname "$1/$file")"
	done < <(git -C "$1" ls-files -z --cached --others --exclude-standard -- go.mod '*/go.mod')
	# An older go command fetches the Go that lockbench needs if the module asks for that (unless GOTOOLCHAIN is local).
	if [ -d "$source" ]; then
		"$go" mod edit "-go=$(sed -n 's/^go //p' "$source/go.mod")" "-require=$lockbench@v0.0.0" "-replace=$lockbench=$source"
		cp "$source/go.sum" . # so that no sum is asked for
	else
		"$go" get "$lockbench@$source" || return 1
	fi
	# Before minutes of compiling: the directories of replaced modules that are used.
	used=$("$go" list -deps -f '{{with .Module}}{{with .Replace}}{{.Path}}{{end}}{{end}}' "$lockbench/cmd/lockbench") || return 1
	if ! source=$source awk '$0 != "" && $0 != ENVIRON["source"] { n++ } END { exit !n }' <<<"$used"; then
		usage "lockbench $source uses no module of this repository: there is nothing to compare. Is it a service of your own?" \
			"-build, or lockbench gate with -base-cmd and -head-cmd: lockbench help ci"
	fi
	"$go" build -trimpath -o "$2" "$lockbench/cmd/lockbench" || return 1
}

command_of() { # SIDE NAME: what sh runs
	local word
	printf 'LOCKBENCH_REVISION=%s exec' "'$2'"
	for word in "$tmp/$1.program" "${flags[@]}"; do printf " '%s'" "${word//\'/\'\\\'\'}"; done
}

parse "$@"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/lockbench-gate.XXXXXX")
trap clean_up EXIT
trap interrupted INT TERM HUP
root=$(git rev-parse --show-toplevel) || usage '-base needs a git repository, and this is not one'
base_at=$(revision_of -base "$base")
base_is=$(git rev-parse --short "$base_at")
[ -z "$head" ] || head_at=$(revision_of -head "$head")
head_is=$(git rev-parse --short "${head_at:-HEAD}")
[ -n "$head" ] || [ -z "$(git -C "$root" status --porcelain)" ] || head_is="$head_is, changed"
build_one base "$base_at" "$base_is"
if [ "$base_at" = "$head_at" ]; then
	say 'base and head are the same revision: this shows the noise of the machine'
	cp "$tmp/base.program" "$tmp/head.program"
else
	build_one head "$head_at" "$head_is"
fi
for side in base head; do # a flag that one side does not know
	"$tmp/$side.program" "${flags[@]}" -dry-run </dev/null >/dev/null 2>"$tmp/stderr" ||
		{ cat "$tmp/stderr" >&2 && die 2 "the $side cannot run these flags"; }
done
code=0
job "${judge:-$tmp/head.program}" gate ${options[@]+"${options[@]}"} -base-cmd "$(command_of base "$base_is")" \
	-head-cmd "$(command_of head "$head_is")" || code=$?
exit "$code"
