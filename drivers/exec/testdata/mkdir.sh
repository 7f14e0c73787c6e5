#!/bin/sh
# An adapter in another language: its lock is a directory, which stays when its holder dies. It has no leases, so it needs
# neither renew nor watch.
# usage: mkdir.sh DIRECTORY
answer() { printf '{"id":%s%s}\n' "$id" "$1"; }

while read -r request; do
	id=${request#*'"id":'} id=${id%%,*}
	key=${request#*'"key":"'} key=${key%%'"'*}
	case $request in
	*'"op":"hello"'*) answer ',"hello":{"version":2,"designs":[{"name":"mkdir","traits":{"exclusive":true}}]}' ;;
	*'"op":"open"'*) answer ',"traits":{"exclusive":true}' ;;
	*'"op":"session"'*) answer "" ;;
	*'"op":"try"'*) if mkdir "$1/$key" 2>/dev/null; then answer ',"held":true'; else answer ',"held":false'; fi ;;
	*'"op":"release"'*) if rmdir "$1/$key" 2>/dev/null; then answer ',"owned":true'; else answer ',"owned":false'; fi ;;
	*'"op":"close","session"'*) answer "" ;;
	*'"op":"close"'*) answer "" && exit ;;
	*) answer ',"error":{"class":"protocol","field":"op","text":"op: this worker does not know it"}' ;;
	esac
done
