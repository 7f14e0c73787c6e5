#!/usr/bin/env bash
# The step of action.yml: call scripts/gate.sh, of the version of this action, with its inputs.
set -euo pipefail
lockbench=$(cd "$(dirname "$0")/../../.." && pwd)

directory=$RUNNER_TEMP/lockbench-gate-${NAME//[!A-Za-z0-9]/-}
echo "directory=$directory" >>"$GITHUB_OUTPUT"

flags=(-base "$BASE" -n "$ROUNDS" -fail-on "$FAIL_ON" -name "$NAME" -o "$directory")
[ -z "$HEAD_REF" ] || flags+=(-head "$HEAD_REF")
[ "$ALLOW" != true ] || flags+=(-allow-inconclusive)
[ "$COMMENT" != true ] || flags+=(-comment)
if [ -n "$VERSION" ]; then
	flags+=(-source "$VERSION")
elif [ ! -d cmd/lockbench ]; then # the repository of a library
	flags+=(-source "$lockbench")
fi
words=$(xargs -n 1 printf '%s\n' <<<"$ARGS") # takes quotes away, and fails if one is open
args=()
while IFS= read -r arg; do args+=("$arg"); done <<<"$words"

exec "$lockbench/scripts/gate.sh" "${flags[@]}" -- "${args[@]}"
