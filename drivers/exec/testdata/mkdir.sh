#!/bin/sh
# A worker in another language: its lock is a directory, which stays when its holder dies. It has no leases, so it needs
# neither renew nor watch.
# usage: mkdir.sh DIRECTORY
answer() { printf '{"id":%s,"at_ns":%s%s}\n' "$id" "$(date +%s%N)" "$1"; }

while read -r request; do
	id=${request#*'"id":'} id=${id%%,*}
	key=${request#*'"key":"'} key=${key%%'"'*}
	case $request in
	*'"op":"open"'*) answer ',"traits":{"exclusive":true}' ;;
	*'"op":"try"'*) if mkdir "$1/$key" 2>/dev/null; then answer ',"held":true'; else answer ',"held":false'; fi ;;
	*'"op":"release"'*) if rmdir "$1/$key" 2>/dev/null; then answer ',"owned":true'; else answer ',"owned":false'; fi ;;
	*'"op":"close"'*) answer "" && exit ;;
	*) answer ',"error":{"class":"protocol","field":"op","text":"op: this worker does not know it"}' ;;
	esac
done
