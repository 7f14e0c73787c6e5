// Which servers a run is aimed at: decided here from flags and environment, started by package target.

package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/secrets"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/target"
)

// externalFlags make sense for a user's own server only.
var externalFlags = flagNames(serverFlags[1:]) // but -addr

// ownServers are the values of -addr for a server that lockbench starts.
var ownServers = []string{matrix.Private, matrix.Embedded}

// decideTargets picks the servers: what -addr says, else the service's own variable, else one that lockbench starts. find looks for
// the program of a service.
func decideTargets(o *options, env environ, find func(*servers.Service) (string, error)) (t target.Targets, err error) {
	names := o.driverNames()
	if err := o.startDrivers(names); err != nil {
		return t, err
	}
	is := func(what func(string) bool) bool { return slices.ContainsFunc(names, what) }
	wanted, all := target.Services(names), strings.Join(names, ",")
	switch {
	case is(func(name string) bool { _, err := drivers.Lookup(name); return err != nil }):
		return target.Targets{Why: "there is no such driver"}, nil // which the matrix says better
	case len(wanted) == 0 && is(drivers.IsCommand) && is(drivers.Unstarted):
		return target.Targets{Why: "or what the adapter needs, which is not started here"}, nil
	case len(wanted) == 0:
		return target.Targets{Why: all + " needs no server"},
			o.refuse(append([]string{"addr"}, externalFlags...), all+" runs in-process and reads no address")
	}
	if t, err = o.external(env, wanted); err != nil || t.List != nil {
		return t, err
	}
	for _, s := range wanted {
		t.List = append(t.List, pickOwn(o.get("addr"), s, find))
	}
	if missing := t.List[0].Missing; missing != nil && len(wanted) == 1 && !is(func(name string) bool { return !matrix.Addressed(name) }) {
		return target.Targets{}, missing
	}
	return t, o.refuse(externalFlags,
		"is for a server of yours, and this run has one of our own ("+t.List[0].Kind+"): give its address by -addr")
}

// driverNames returns the drivers without their topologies, each once.
func (o *options) driverNames() (names []string) {
	for name := range strings.SplitSeq(o.text("driver"), ",") {
		if name, _, _ = matrix.CutTopology(strings.TrimSpace(name)); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// namesTopology returns of each driver whether it names its topology.
func (o *options) namesTopology() (list []bool) {
	for name := range strings.SplitSeq(o.text("driver"), ",") {
		_, _, named := matrix.CutTopology(name)
		list = append(list, named)
	}
	return list
}

// startDrivers starts those of names that say only then what they can. A dry run starts nothing, and only what a user types may be
// a command.
func (o *options) startDrivers(names []string) error {
	opt := o.get("driver")
	if opt.from == fromFile && slices.ContainsFunc(names, drivers.IsCommand) {
		return o.complain(opt, "a workload starts no command: give -driver on the command line")
	}
	for _, name := range names {
		if !drivers.Unstarted(name) || o.on("dry-run") {
			continue
		}
		if _, err := drivers.Start(name); err != nil {
			return o.complain(opt, "%w", err)
		}
	}
	return nil
}

// pickOwn returns a target that lockbench starts itself.
func pickOwn(addr *option, s *servers.Service, find func(*servers.Service) (string, error)) target.Target {
	if addr.text == matrix.Embedded {
		return target.Target{Service: s, Kind: matrix.Embedded, Why: addr.flagOrVariable()}
	}
	binary, err := find(s)
	switch {
	case err == nil:
		return target.Target{Service: s, Kind: matrix.Private, Binary: binary}
	case addr.text == matrix.Private:
		err = fmt.Errorf("-addr private: %w", err)
	case s.Embedded != nil:
		return target.Target{Service: s, Kind: matrix.Embedded, Why: "no " + s.Name + "-server on PATH", Fallback: true}
	}
	return target.Target{Service: s, Kind: matrix.Private, Missing: err}
}

// external returns the servers of the user's, one for each service; none if the servers are to be our own.
func (o *options) external(env environ, wanted []*servers.Service) (t target.Targets, err error) {
	addr, why := o.get("addr"), ""
	addrs := map[*servers.Service][]string{}
	switch {
	case slices.Contains(ownServers, addr.text):
	case addr.text != "":
		why = addr.flagOrVariable()
		if addrs, err = target.Assign(drivers.SplitAddrs(addr.text), wanted); err != nil {
			return t, usageErrorf("%s: %w", why, err)
		}
	default:
		for _, s := range wanted {
			if url, _ := env.lookup(s.Variable); url != "" {
				why, addrs[s] = s.Variable, drivers.SplitAddrs(url)
			}
		}
	}
	if len(addrs) == 0 {
		return t, nil
	}
	login, err := o.login(env, wanted)
	if err != nil {
		return t, err
	}
	for _, s := range wanted {
		if len(addrs[s]) == 0 {
			return t, usageErrorf("%s names no server of %s: add %s to -addr (yours and ours do not compare)", why, s.Name, s.Example())
		}
		one := login
		if !s.Prefixes && !o.shares() {
			one.Prefix = ""
		}
		at, err := target.External(s, addrs[s], one)
		if err != nil {
			return t, usageErrorf("%s: %w", why, err)
		}
		at.Why = why
		t.List = append(t.List, at)
	}
	return t, nil
}

// keyPrefix leaves out what has a meaning in a cluster (braces), in patterns, or in a shell.
var keyPrefix = regexp.MustCompile(`^[A-Za-z0-9:._/-]{1,64}$`)

// login reads what the flags say about logging in, and what names have to begin with there.
func (o *options) login(env environ, wanted []*servers.Service) (l target.Login, err error) {
	l.PasswordFile, l.Prefix = o.text("password-file"), o.text("prefix")
	if password, _ := env.lookup(passwordVariable); l.PasswordFile == "" {
		l.Password = drivers.Secret(password)
	}
	l.TLS = target.TLSFiles{
		CA: o.text("tls-ca"), Cert: o.text("tls-cert"), ServerName: o.text("tls-server-name"), SkipVerify: o.on("tls-skip-verify"),
	}
	prefix, prefixes := o.get("prefix"), func(s *servers.Service) bool { return s.Prefixes }
	switch {
	case l.TLS.SkipVerify && (l.TLS.CA != "" || l.TLS.ServerName != ""):
		err = usageErrorf("-tls-skip-verify: -tls-ca and -tls-server-name say how to verify the certificate: drop the one or the others")
	case l.Prefix == "" && o.shares():
		err = o.complain(o.get("shared"),
			"runs that are to contend find each other by a prefix: give all of them the same one, as in -prefix ours:")
	case l.Prefix != "" && !keyPrefix.MatchString(l.Prefix):
		err = o.complain(prefix, "must be up to 64 letters, digits and : . _ / - as app:locks: has them")
	case l.Prefix != "" && !o.shares() && !slices.ContainsFunc(wanted, prefixes):
		err = o.complain(prefix, "is for the keys of Redis and etcd; a user of ZooKeeper may be kept to a chroot, "+
			"one of a database to a database, which stand in -addr")
	}
	return l, err
}

// shares reports whether a run is to contend with others.
func (o *options) shares() bool {
	return slices.ContainsFunc(strings.Split(o.text("shared"), ","), func(v string) bool { return v == "on" || v == "true" })
}

// refuse complains about the first of those flags that is on the command line. Variables pass: they are set once for many runs.
func (o *options) refuse(flags []string, why string) error {
	for _, name := range flags {
		if o.get(name).from == fromFlag {
			return usageErrorf("-%s: %s", name, why)
		}
	}
	return nil
}

// learnTargets adds what logs in to the targets.
func learnTargets(s *secrets.Secrets, list []target.Target) {
	for _, t := range list {
		s.Add(string(t.Password))
		for _, secret := range t.Secrets {
			s.Add(string(secret))
		}
	}
}
