#!/usr/bin/env bash
# Gate a change: measure base and head in turn, compare them, and exit with the verdict.
#
#   scripts/gate.sh -base REF [-head REF] [OPTION…] -- LOCKBENCH-FLAG…      two revisions of this repository
#   scripts/gate.sh -base-cmd 'CMD' -head-cmd 'CMD' [OPTION…]               anything else: two command lines
#
# The first form builds lockbench from two revisions of the current repository (without -head, the second is the working
# tree) and runs both with the same flags; -source is for the repository of a lock library. The second form runs two
# command lines, each of which runs lockbench: for two addresses, two server configurations, two programs. File names in
# flags are relative to the current directory. It needs bash, git and Go, and refuses to run with a GITHUB_TOKEN or a
# GH_TOKEN: whatever it builds and measures could read it.
#
#   -n N                  rounds: trials of each side (10)
#   -fail-on EXPR         when to fail: 'locks/s<-5%,acquire.p99>+10%,violations>0'; see lockbench help comparing
#   -force                as in lockbench compare
#   -allow-inconclusive   exit with 0 instead of 5 if results are merely noisy; missing results, unmeasured ones and too few
#                         rounds still do not pass
#   -o DIR                for base.jsonl, head.jsonl, the comparison as text, Markdown, HTML and JUnit XML, and a log
#                         (default: a temporary directory, removed if the gate passes)
#   -source VERSION|DIR   of lockbench, when this is the repository of a Go library that lockbench measures: each side is a
#                         lockbench of that version (v0.1.0) or that directory, built with that side's library
#   -build CMD            builds a revision in another way: sh runs it in $TREE, and it makes the program $OUT
#                         (CGO_ENABLED=0 go build -trimpath -o "$OUT" ./cmd/lockbench)
#   -lockbench PROGRAM    the one that compares (that of the head; with -head-cmd: lockbench)
#
# Exit codes: 0 passed · 1 error, including a failed trial · 2 usage · 3 regression · 4 the head violated mutual exclusion,
# which it claims, and the base did not · 5 inconclusive · 130 interrupted. The records are kept unless the gate passes.
#
# Why not lockbench -vs: it compares two configurations within one process, trial by trial in random order, and is the
# better choice if it is possible. Two builds are two processes. So each process here runs one trial of every cell, the
# sides take turns, and the side that begins alternates (base head, head base, …): a machine that gets slower or faster
# affects both alike. Between a cell's two trials there are as many trials as cells; keep them few.
#
# Each round has its own seed, the same on both sides. Flags that the gate sets (-o, -seed, -trials, -quiet, -revision)
# reach the processes as LOCKBENCH_ variables, so a command line need not pass them on.
set -euo pipefail

say() { printf 'gate: %s\n' "$*" >&2; }
die() { # CODE WORD…
	local code=$1
	shift
	say "$*"
	exit "$code"
}
usage() { die 2 "$* (gate.sh -h explains)"; }

time_of() { # SECONDS: in readable form
	if [ "$1" -ge 120 ]; then echo "$((($1 + 30) / 60)) min"; else echo "$1 s"; fi
}

base='' head='' base_cmd='' head_cmd='' rounds=10 dir='' build='' source='' judge='' allow=''
judge_flags=()

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
		-force) judge_flags+=("$flag") && continue ;;
		-allow-inconclusive) allow=yes && continue ;;
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
		-base-cmd) base_cmd=$value ;;
		-head-cmd) head_cmd=$value ;;
		-n) rounds=$value ;;
		-o) dir=$value ;;
		-build) build=$value ;;
		-source) source=$value ;;
		-lockbench) judge=$value ;;
		-fail-on) judge_flags+=("$flag" "$value") ;;
		*) usage "unknown flag $flag" ;;
		esac
	done
	flags=("$@")
	check
}

check() { # that the flags make sense together
	case $rounds in
	'' | *[!0-9]* | 0*) usage "-n $rounds: must be a whole number above 0" ;;
	?????*) usage "-n $rounds: 9999 rounds are the most" ;;
	esac
	if [ -n "$base_cmd$head_cmd" ]; then
		if [ -z "$base_cmd" ] || [ -z "$head_cmd" ]; then usage "-base-cmd and -head-cmd go together"; fi
		[ -z "$base$head$build$source" ] || usage "-base-cmd and -head-cmd build nothing: leave -base, -head, -build and -source out"
		[ ${#flags[@]} = 0 ] || usage "what comes after -- is for -base: put the flags into both commands"
		judge=${judge:-lockbench}
		command -v "$judge" >/dev/null || usage "there is no $judge to compare with: name one with -lockbench"
	else
		[ -n "$base" ] || usage "which base? -base REF, or -base-cmd and -head-cmd"
		[ -z "$build" ] || [ -z "$source" ] || usage "-build and -source are two ways to build: give one"
		check_source
		check_flags
	fi
}

check_flags() { # that those of lockbench say what is measured, and leave the rest to the gate
	local flag
	[ ${#flags[@]} -gt 0 ] || usage "what is to be measured? give flags of lockbench after --"
	for flag in "${flags[@]}"; do
		case $flag in
		--*) flag=${flag#-} ;;
		-*) ;;
		*) continue ;;
		esac
		case ${flag%%=*} in
		-o | -output | -seed | -trials | -revision) usage "${flag%%=*} after --: the gate sets that itself" ;;
		-fail-on | -force | -allow-inconclusive)
			usage "${flag%%=*} after --: it says how to compare, and belongs before --" ;;
		-vs | -baseline | -dry-run) usage "${flag%%=*} after --: the gate measures and compares by itself" ;;
		esac
	done
}

lockbench=github.com/lockbench/lockbench

check_source() { # make a directory absolute; a version is fixed, so that both sides and later runs have the same
	case $source in
	'' | v[0-9]*.[0-9]*.[0-9]*) ;;
	*)
		if [ "$(module_of "$source/go.mod")" != "$lockbench" ]; then
			usage "-source $source: must be a version such as v0.1.0, or a directory with the source of lockbench"
		fi
		source=$(cd "$source" && pwd)
		;;
	esac
}

module_of() { # GO.MOD: the path of its module
	sed -n 's/^module[[:blank:]]*"\{0,1\}\([^[:blank:]"]*\).*/\1/p' "$1" 2>/dev/null || true
}

child='' # the process group under way
job() { # COMMAND…: run it in its own process group, so that only this script passes Ctrl-C on, once
	local code=0
	set -m
	"$@" </dev/null &
	child=$!
	set +m
	wait "$child" || code=$?
	child=''
	return "$code"
}

# A trial that is told to stop drains, cleans up on its server and writes its record: wait for it, but not for ever.
interrupted() {
	trap '[ -z "$child" ] || kill -KILL -- "-$child" 2>/dev/null' INT TERM HUP # the second time
	local watchdog
	child=$(jobs -p) # even if it has just begun
	if [ -n "$child" ]; then
		say 'interrupted: what is under way cleans up; once more to stop at once'
		kill -TERM -- "-$child" 2>/dev/null || true
		set -m
		(sleep 30 && kill -KILL -- "-$child") </dev/null >/dev/null 2>&1 &
		watchdog=$!
		set +m
		wait "$child" || true
		while kill -0 -- "-$child" 2>/dev/null; do sleep 0.1; done # what a shell has left behind
		kill -- "-$watchdog" 2>/dev/null || true
	fi
	say 'interrupted: nothing is compared'
	exit 130
}

tmp='' root='' own='' plan=''
clean_up() {
	local code=$? tree
	for tree in base head; do
		[ ! -d "$tmp/$tree" ] || git -C "$root" worktree remove --force "$tmp/$tree" || true
	done
	rm -rf "$tmp"
	if [ -n "$own" ] && { [ "$code" = 0 ] || [ ! -s "$dir/base.jsonl" ]; }; then
		rm -rf "$dir"
	elif [ -s "$dir/base.jsonl" ]; then
		say "the records are in $dir"
	fi
	exit "$code"
}

prepare() { # directories, and the clean-up at the end
	trap interrupted INT TERM HUP
	tmp=$(mktemp -d "${TMPDIR:-/tmp}/lockbench-gate.XXXXXX")
	trap clean_up EXIT
	if [ -z "$dir" ]; then
		dir=$(mktemp -d "${TMPDIR:-/tmp}/lockbench-gate-records.XXXXXX")
		own=yes
	fi
	mkdir -p "$dir" 2>/dev/null || usage "-o $dir: no directory can be made there"
	dir=$(cd "$dir" && pwd)
	if [ -e "$dir/base.jsonl" ] || [ -e "$dir/head.jsonl" ]; then
		usage "-o $dir has the records of another gate: they would be counted in"
	fi
	: >"$tmp/said"
}

revision_of() { # FLAG REF: its hash, also that of a branch that only origin has
	git rev-parse --verify --quiet "$2^{commit}" || git rev-parse --verify --quiet "refs/remotes/origin/$2^{commit}" ||
		usage "$1 $2: there is no such commit here; if the clone is shallow: git fetch --unshallow, or fetch-depth: 0"
}

build_both() {
	root=$(git rev-parse --show-toplevel) || usage "-base needs a git repository, and this is not one"
	base_at=$(revision_of -base "$base")
	base_is=$(git rev-parse --short "$base_at")
	if [ -n "$head" ]; then
		head_at=$(revision_of -head "$head")
		head_is=$(git rev-parse --short "$head_at")
	else
		head_at='' head_is=$(git rev-parse --short HEAD)
		[ -z "$(git -C "$root" status --porcelain)" ] || head_is="$head_is, changed"
	fi
	build_one base "$base_at" "$base_is"
	if [ "$base_at" = "$head_at" ]; then
		say 'base and head are the same revision: this shows the noise of the machine'
		cp "$tmp/base.program" "$tmp/head.program"
	else
		build_one head "$head_at" "$head_is"
	fi
	judge=${judge:-$tmp/head.program}
	# Detect flags that one side does not know before anything is measured.
	local side
	for side in base head; do
		"$tmp/$side.program" "${flags[@]}" -dry-run </dev/null >"$tmp/plan" 2>"$tmp/stderr" ||
			{ cat "$tmp/stderr" >&2 && die 2 "the $side cannot run these flags"; }
	done
	plan=$(sed -n '/at least 0s/d; s/^# \(.*, at least .*\)$/; each time \1/p' "$tmp/plan")
}

build_one() { # SIDE COMMIT NAME: build the commit, or the working tree if it is empty
	local tree=$root
	say "building the $1: $3"
	if [ -n "$2" ]; then
		tree=$tmp/$1
		git -C "$root" -c core.hooksPath=/dev/null worktree add --quiet --detach "$tree" "$2"
	fi
	if [ -z "$build$source" ] && [ ! -d "$tree/cmd/lockbench" ]; then
		usage "the $1 ($3) has no cmd/lockbench: give -source if it is a library, or say with -build how it is built"
	fi
	job compile "$tree" "$tmp/$1.program" || die 1 "the $1 ($3) does not build"
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
	local go=${GO:-go} file module
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
		"$go" get "$lockbench@$source" || return
	fi
	"$go" build -trimpath -o "$2" "$lockbench/cmd/lockbench" || return
	if ! "$go" version -m "$2" | source=$source awk -F '\t' '$2 == "=>" && $3 != ENVIRON["source"] { n++ } END { exit !n }'; then
		say "lockbench $source uses no module of this repository: there is nothing to compare"
		return 1
	fi
}

records() { # SIDE: their number
	if [ -e "$dir/$1.jsonl" ]; then echo $(($(wc -l <"$dir/$1.jsonl"))); else echo 0; fi
}

one() { # SIDE SEED: become the process of one trial
	exec >"$tmp/stdout" 2>"$tmp/stderr"
	export LOCKBENCH_OUTPUT="$dir/$1.jsonl" LOCKBENCH_SEED=$2 LOCKBENCH_TRIALS=1 LOCKBENCH_QUIET=true
	case $1$base_cmd in
	base) LOCKBENCH_REVISION=$base_is exec "$tmp/base.program" "${flags[@]}" ;;
	head) LOCKBENCH_REVISION=$head_is exec "$tmp/head.program" "${flags[@]}" ;;
	base*) exec sh -c "$base_cmd" ;;
	head*) exec sh -c "$head_cmd" ;;
	esac
}

violated=''
trial() { # SIDE ROUND: one process; its messages, each only once
	local code=0 before
	before=$(records "$1")
	job one "$1" "$2" || code=$?
	{ echo "== $1, round $2: exit code $code" && cat "$tmp/stdout" "$tmp/stderr"; } >>"$dir/log"
	case $code in
	0) ;;
	4) violated="$violated $1" ;; # the record is complete, and the comparison judges it
	*)
		tail -n 20 "$tmp/stderr" >&2
		die 1 "round $2: the $1 failed with exit code $code: nothing is compared"
		;;
	esac
	grep -vxFf "$tmp/said" "$tmp/stderr" >"$tmp/new" || true
	sed "s/^/gate: $1: /" "$tmp/new" >&2
	cat "$tmp/new" >>"$tmp/said"
	[ "$(records "$1")" -gt "$before" ] ||
		die 1 "round $2: the $1 has written no record to \$LOCKBENCH_OUTPUT: does its command line have an -o, or no lockbench?"
	if tail -n "+$((before + 1))" "$dir/$1.jsonl" | grep -q '"partial":"'; then
		die 1 "round $2: a trial of the $1 ended early: nothing is compared"
	fi
}

measure() {
	local round side order started=$SECONDS took left
	say "measuring: $rounds rounds, in each base and head once$plan"
	for ((round = 1; round <= rounds; round++)); do
		if ((round % 2)); then order='base head'; else order='head base'; fi
		for side in $order; do
			trial "$side" $round
		done
		took=$((SECONDS - started))
		left=$(((took * (rounds - round) + round - 1) / round))
		if ((round < rounds)); then
			say "round $round of $rounds ($order): measured for $(time_of $took), about $(time_of $left) to go"
		else
			say "round $round of $rounds ($order): measured for $(time_of $took), comparing"
		fi
	done
}

compare() { # FLAG…: the two files, by their short names
	(cd "$dir" && "$judge" compare ${judge_flags[@]+"${judge_flags[@]}"} "$@")
}

check_judge() { # before anything is measured: are its flags valid?
	local code=0
	case $judge in
	*/*) judge=$(cd "$(dirname "$judge")" && pwd)/$(basename "$judge") ;; # compare changes the directory
	esac
	compare -format table /dev/null /dev/null >/dev/null 2>"$tmp/stderr" </dev/null || code=$? # it fails, because the files are empty
	[ $code != 2 ] || { cat "$tmp/stderr" >&2 && exit 2; }
}

answer() { # the comparison in every form, and the exit code
	local code=0 forms=table,markdown=compare.md,html=compare.html,junit=junit.xml
	compare -format "$forms" base.jsonl head.jsonl >"$dir/compare.txt" || code=$?
	cat "$dir/compare.txt"
	[ -z "${GITHUB_STEP_SUMMARY:-}" ] || [ ! -f "$dir/compare.md" ] || cat "$dir/compare.md" >>"$GITHUB_STEP_SUMMARY"
	case $code in 0 | 3 | 4 | 5) ;; *) die 1 "lockbench compare failed with exit code $code" ;; esac
	case "$violated " in
	*' head '*' base '* | *' base '*' head '*) say 'both sides violated mutual exclusion, which they claim' ;;
	*' base '*) say 'the base violated mutual exclusion, which it claims; the head did not' ;;
	*' head '*) die 4 'failed: the head violated mutual exclusion, which it claims' ;;
	esac
	if [ "$code$allow" = 5yes ] && grep -q 'name="reasons" value="scatter"' "$dir/junit.xml"; then
		say 'passed: inconclusive only because of noise, which is allowed'
		return
	fi
	case $code in
	0) say 'passed' ;;
	3) die 3 'failed: a threshold is missed' ;;
	4) die 4 'failed: the head violated mutual exclusion, which it claims, more than the base' ;;
	5) die 5 'inconclusive: the reason is above; if it is noise, more rounds (-n) or a quieter machine may help, and -allow-inconclusive lets it pass' ;;
	esac
}

parse "$@"
# A variable that this script unsets stays in its /proc/PID/environ, which its children may read.
[ -z "${GITHUB_TOKEN-}${GH_TOKEN-}" ] || die 2 'GITHUB_TOKEN or GH_TOKEN is set, and what is measured could read it: unset it first'
prepare
[ -n "$base_cmd" ] || build_both
check_judge
measure
answer
