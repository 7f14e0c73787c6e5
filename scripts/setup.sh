#!/usr/bin/env bash
# Install the servers for the tests, and other languages with their libraries. If they are all installed it is quick and
# silent; if it may not install anything, it lists in one line the tests that will be skipped, and fails with CI=true.
# Without arguments it installs what make test needs, with "all" what make test-all needs, and otherwise the packages
# named, as in the table.
set -euo pipefail

# What the tests need: a program or the path of a file, with * for anything (or one of several, separated by |), its
# Debian package, the make target that needs it, and the tests that do.
# The package zookeeper would only add a Java with a GUI.
table="
redis-server|valkey-server  redis-server  test  Redis
java  default-jre-headless  test  ZooKeeper
${ZOOKEEPER_HOME:-/usr/share/java}/zookeeper.jar|${ZOOKEEPER_HOME:-}/lib/zookeeper-*.jar  libzookeeper-java  test  ZooKeeper
etcd  etcd-server  test  etcd
mariadbd|mysqld|/usr/sbin/mariadbd|/usr/libexec/mariadbd  mariadb-server  test  MySQL
postgres|/usr/lib/postgresql/*/bin/postgres  postgresql  test  PostgreSQL
pgbouncer|/usr/sbin/pgbouncer  pgbouncer  test  PgBouncer
python3  python3  test  locks in Python
/usr/lib/python3/dist-packages/redis/__init__.py  python3-redis  test-all  redis-py
/usr/lib/python3/dist-packages/kazoo/__init__.py  python3-kazoo  test-all  kazoo
node  nodejs  test-all  locks in Node.js
npm  npm  test-all  locks in Node.js
javac  default-jdk-headless  test-all  locks in Java
/usr/share/java/curator-recipes.jar  libcurator-recipes-java  test-all  Curator
chromium|chromium-browser|google-chrome|google-chrome-stable|headless-shell  chromium  test-all  HTML reports in a browser
/usr/lib/*/faketime/libfaketime.so.1|/usr/lib64/faketime/libfaketime.so.1|/usr/lib/faketime/libfaketime.so.1  libfaketime  test-all  Redis with a clock that jumps
bsdtar  libarchive-tools  test-all  .rpm packages
munged|/usr/sbin/munged  munge  test-all  fleets started by Slurm
slurmctld|/usr/sbin/slurmctld  slurmctld  test-all  fleets started by Slurm
slurmd|/usr/sbin/slurmd  slurmd  test-all  fleets started by Slurm
srun  slurm-client  test-all  fleets started by Slurm
mpirun.openmpi  openmpi-bin  test-all  fleets started by Open MPI
ip|/usr/sbin/ip  iproute2  test-all  fleets of hosts that are namespaces
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

have() { # one of the programs and files in $1, separated by |
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

missing() { # the wanted rows of the table whose program is not installed
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
# private addresses, and nothing may listen on the usual ones. This script's policy-rc.d has a mark, because a killed
# set-up leaves it behind, and it must not be taken for the machine's own, which is kept in $kept.
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

install_now() { # all packages named, or none
	as_root env DEBIAN_FRONTEND=noninteractive apt-get "${apt[@]}" install -y --no-install-recommends "$@" 9<&-
}

install() { # the packages named
	local log
	log=$(mktemp)
	trap restore_services EXIT
	forbid_services
	echo "setup: installing $*" >&2
	# A package source that fails is no reason to stop, nor one that hangs to wait for long.
	as_root apt-get "${apt[@]}" update >"$log" 2>&1 9<&- || true
	if ! install_now "$@" >>"$log" 2>&1; then
		# One missing package makes apt-get fail for all, so try them one by one.
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
# Remove what a killed set-up has left behind, even if nothing is missing any more.
if { [ -n "$rows" ] || grep -qsF "$mark" "$policy"; } && may_install; then
	# One at a time: of two that overlap, the second would remove the first one's policy.
	exec 9<"${policy%/*}"
	! command -v flock >/dev/null || flock 9
	restore_services
	rows=$(missing) # another set-up may have installed it meanwhile
fi
if [ -n "$rows" ] && may_install; then
	mapfile -t packages < <(cut -f2 <<<"$rows")
	install "${packages[@]}"
	rows=$(missing)
fi

# The modules of the adapters, from the lock file. A copy of it beside them says that they are all there.
adapters=$(dirname "$0")/../drivers/exec/adapters
if [[ $only == *" all "* ]] && ! cmp -s "$adapters"/package-lock.json "$adapters"/node_modules/of.json; then
	echo "setup: installing modules of Node.js" >&2
	if (cd "$adapters" && npm ci --no-audit --no-fund --loglevel=error) >&2; then
		cp "$adapters"/package-lock.json "$adapters"/node_modules/of.json
	else
		rows+=${rows:+$'\n'}$'modules\tof npm ci\tredlock and others'
	fi
fi
[ -n "$rows" ] || exit 0

skipped=$(cut -f2,3 <<<"$rows" | awk -F '\t' '{ printf "%s%s (package %s)", sep, $2, $1; sep = ", " }')
echo "setup: not installed, so their tests are skipped: $skipped" >&2
[ "${CI:-}" != true ] || exit 1
