#!/usr/bin/env bash
# The step of action.yml: call scripts/gate.sh, of the version of this action, with its inputs.
set -euo pipefail
lockbench=$(cd "$(dirname "$0")/../../.." && pwd)

refuse() {
	echo "gate: input $*" >&2
	exit 2
}
is_true() { # INPUT VALUE
	case $2 in
	true) return 0 ;;
	false | '') return 1 ;;
	*) refuse "$1: $2: must be true or false" ;;
	esac
}

directory=$RUNNER_TEMP/lockbench-gate-${NAME//[!A-Za-z0-9]/-}
echo "directory=$directory" >>"$GITHUB_OUTPUT"

flags=(-base "$BASE" -n "$ROUNDS" -fail-on "$FAIL_ON" -o "$directory")
[ -z "$HEAD_REF" ] || flags+=(-head "$HEAD_REF")
! is_true allow-inconclusive "$ALLOW" || flags+=(-allow-inconclusive)
is_true setup-go "$SETUP_GO" || true # action.yml has read it
if [ -n "$VERSION" ]; then
	flags+=(-source "$VERSION")
elif [ ! -d cmd/lockbench ]; then # the repository of a library
	flags+=(-source "$lockbench")
fi

args=()
case $ARGS in
*[![:space:]]*)
	xargs printf '%s\0' <<<"$ARGS" >/dev/null || refuse 'args: a quote is open'
	while IFS= read -r -d '' arg; do args+=("$arg"); done < <(xargs printf '%s\0' <<<"$ARGS")
	;;
esac

exec "$lockbench/scripts/gate.sh" "${flags[@]}" -- ${args[@]+"${args[@]}"}
