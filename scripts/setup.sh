#!/usr/bin/env bash
# Install the servers that the tests talk to. Quiet and quick when they are all there; where nothing may be installed
# it says in one line which tests will be skipped, and with CI=true it fails instead. Without arguments it is what make
# test needs, with "all" what make test-all needs; other arguments are the packages that are wanted, by their names in
# the table.
set -euo pipefail

# What today's tests need: a program or the path of a file, where * stands for anything (any of several, separated by
# |), its Debian package, the target that needs it, and the tests that do.
# The package zookeeper would bring a Java with windows, and nothing besides that is needed here.
table="
redis-server|valkey-server  redis-server  test  Redis
java  default-jre-headless  test  ZooKeeper
${ZOOKEEPER_HOME:-/usr/share/java}/zookeeper.jar|${ZOOKEEPER_HOME:-}/lib/zookeeper-*.jar  libzookeeper-java  test  ZooKeeper
etcd  etcd-server  test  etcd
mariadbd|mysqld|/usr/sbin/mariadbd|/usr/libexec/mariadbd  mariadb-server  test  MySQL
postgres|/usr/lib/postgresql/*/bin/postgres  postgresql  test  PostgreSQL
chromium|chromium-browser|google-chrome|google-chrome-stable|headless-shell  chromium  test-all  HTML reports in a browser
"

only=" $* "
for package in "$@"; do
	[ "$package" = all ] || grep -qE "  $package  " <<<"$table" ||
		{ echo "setup: nothing here needs a package $package" >&2 && exit 2; }
done

wanted() { # PACKAGE TARGET
	case $only in
	"  ") [ "$2" = test ] ;;
	*" all "* | *" $1 "*) ;;
	*) return 1 ;;
	esac
}

have() { # any of the programs and files in $1, which are separated by |
	local one list
	IFS='|' read -ra list <<<"$1"
	for one in "${list[@]}"; do
		case $one in
		*/*) compgen -G "$one" >/dev/null && return ;;
		*) command -v "$one" >/dev/null && return ;;
		esac
	done
	return 1
}

missing() { # the rows of the table, of those that are wanted, whose program is not there
	local programs package target tests
	while read -r programs package target tests; do
		[ -n "$programs" ] && wanted "$package" "$target" || continue
		have "$programs" || printf '%s\t%s\t%s\n' "$programs" "$package" "$tests"
	done <<<"$table"
}

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

may_install() {
	command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }
}

# Debian starts a server when it is installed, unless policy-rc.d forbids it with 101. Tests start their own, on
# private addresses, and nothing may listen on the usual ones. Ours carries a mark: a set-up that was killed leaves it
# behind, and it is not to be taken for the machine's own, which waits in $kept.
policy=/usr/sbin/policy-rc.d
kept=$policy.before-lockbench
mark='# of lockbench, for as long as it installs'
forbid_services() {
	if [ -e "$policy" ] && ! grep -qF "$mark" "$policy"; then
		as_root mv "$policy" "$kept"
	fi
	printf '#!/bin/sh\n%s\nexit 101\n' "$mark" | as_root tee "$policy" >/dev/null
	as_root chmod 755 "$policy"
}

restore_services() {
	if [ -e "$policy" ] && grep -qF "$mark" "$policy"; then
		as_root rm -f "$policy"
	fi
	[ ! -e "$kept" ] || as_root mv "$kept" "$policy"
}

apt=(-q -o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 -o DPkg::Lock::Timeout=120)

install_now() { # the packages named, or none of them
	as_root env DEBIAN_FRONTEND=noninteractive apt-get "${apt[@]}" install -y --no-install-recommends "$@" 9<&-
}

install() { # the packages named
	local log
	log=$(mktemp)
	trap restore_services EXIT
	forbid_services
	echo "setup: installing $*" >&2
	# One source that fails is no reason to stop, and one that hangs none to wait for long.
	as_root apt-get "${apt[@]}" update >"$log" 2>&1 9<&- || true
	if ! install_now "$@" >>"$log" 2>&1; then
		# One package that there is not keeps apt-get from all: the others may well be had.
		local package
		for package in "$@"; do
			install_now "$package" >>"$log" 2>&1 || echo "setup: apt-get failed for $package" >&2
		done
		tail -n 20 "$log" >&2
	fi
	rm -f "$log"
	restore_services
	trap - EXIT
}

rows=$(missing)
# What a set-up that was killed has left behind goes, also where nothing is missing any more.
if { [ -n "$rows" ] || grep -qsF "$mark" "$policy"; } && may_install; then
	# One at a time: of two that overlap, the second would take away what the first has put there.
	exec 9<"${policy%/*}"
	! command -v flock >/dev/null || flock 9
	restore_services
	rows=$(missing) # another one may have brought it meanwhile
fi
if [ -n "$rows" ] && may_install; then
	mapfile -t packages < <(cut -f2 <<<"$rows")
	install "${packages[@]}"
	rows=$(missing)
fi
[ -n "$rows" ] || exit 0

skipped=$(cut -f2,3 <<<"$rows" | awk -F '\t' '{ printf "%s%s (package %s)", sep, $2, $1; sep = ", " }')
echo "setup: not installed, so their tests are skipped: $skipped" >&2
[ "${CI:-}" != true ] || exit 1
