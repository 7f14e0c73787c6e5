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
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/target"
)

// learnTargets adds what logs in to the targets.
func learnTargets(s *secrets.Secrets, list []target.Target) {
	for _, t := range list {
		s.Add(string(t.Password))
		for _, secret := range t.Secrets {
			s.Add(string(secret))
		}
	}
}

// externalFlags make sense for a user's own server only.
var externalFlags = flagNames(serverFlags[1:]) // but -addr

// ownServers are the values of -addr for a server that lockbench starts.
var ownServers = []string{matrix.Private, matrix.Embedded}

// decideTargets picks the servers: what -addr says, else the service's own variable, else one that lockbench starts. find looks for
// the program of a service.
func decideTargets(o *options, env environ, find func(*servers.Service) (string, error)) (target.Targets, error) {
	names, err := o.driverNames()
	if err := o.startDrivers(names); err != nil {
		return target.Targets{}, err
	}
	if err != nil || slices.ContainsFunc(names, unknownDriver) {
		return target.Targets{Why: "there is no such driver"}, nil // which experimentOn says better
	}
	wanted := target.Services(names)
	unstarted := func(name string) bool { return drivers.IsCommand(name) && drivers.Unstarted(name) }
	switch {
	case len(wanted) > 0:
	case slices.ContainsFunc(names, unstarted):
		return target.Targets{Why: "or what the adapter needs, which is not started here"}, nil
	default:
		who := strings.Join(names, ",")
		return target.Targets{Why: who + " needs no server"},
			o.refuse(append([]string{"addr"}, externalFlags...), who+" runs in-process and reads no address")
	}
	t, err := o.external(env, wanted)
	if err != nil || t.List != nil {
		return t, err
	}
	for _, s := range wanted {
		t.List = append(t.List, pickOwn(o.get("addr"), s, find))
	}
	alone := !slices.ContainsFunc(names, func(name string) bool { return !matrix.Addressed(name) })
	if alone && len(wanted) == 1 && t.List[0].Missing != nil {
		return target.Targets{}, t.List[0].Missing
	}
	return t, o.refuse(externalFlags,
		"is for a server of yours, and this run has one of our own ("+t.List[0].Kind+"): give its address by -addr")
}

// driverNames returns the drivers, each once.
func (o *options) driverNames() (names []string, err error) {
	list, err := parseList(o.text("driver"), parseText)
	for _, name := range list {
		if name, _, _ = matrix.CutTopology(name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, err
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

func unknownDriver(name string) bool {
	_, err := drivers.Lookup(name)
	return err != nil
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
		return target.Target{Service: s, Kind: matrix.Private, Missing: fmt.Errorf("-addr private: %w", err)}
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
			if list := env.addrs(s); list != nil {
				why, addrs[s] = s.Variable, list
			}
		}
	}
	if len(addrs) == 0 {
		return t, nil
	}
	login, err := o.login(env)
	if err == nil {
		login.Prefix, err = o.prefix(wanted)
	}
	for _, s := range wanted {
		if err != nil {
			return t, err
		}
		if len(addrs[s]) == 0 {
			if o.find("driver") == nil { // clean, which starts none
				return t, usageErrorf("%s names no server of %s, on which there are trials too: add %s", why, s.Name, s.Example())
			}
			return t, usageErrorf("%s names no server of %s, and yours and ours do not compare: "+
				"add %s to -addr, or give -addr private, and lockbench starts all of them", why, s.Name, s.Example())
		}
		one := login
		if !s.Prefixes && !o.shares() {
			one.Prefix = ""
		}
		var at target.Target
		if at, err = target.External(s, addrs[s], one); err != nil {
			err = usageErrorf("%s: %w", why, err)
		}
		at.Why = why
		t.List = append(t.List, at)
	}
	return t, err
}

// login reads what the flags say about logging in.
func (o *options) login(env environ) (target.Login, error) {
	password, _ := env.lookup(passwordVariable)
	l := target.Login{
		Password: drivers.Secret(password), PasswordFile: o.text("password-file"),
		TLS: target.TLSFiles{
			CA: o.text("tls-ca"), Cert: o.text("tls-cert"), ServerName: o.text("tls-server-name"),
			SkipVerify: o.on("tls-skip-verify"),
		},
	}
	switch {
	case l.TLS.SkipVerify && (l.TLS.CA != "" || l.TLS.ServerName != ""):
		return l, usageErrorf("-tls-skip-verify: -tls-ca and -tls-server-name say how to verify the certificate: drop the one or the others")
	case l.PasswordFile != "":
		l.Password = ""
	}
	return l, nil
}

// prefix reads what the names of a run are to begin with.
func (o *options) prefix(wanted []*servers.Service) (string, error) {
	opt, shared := o.get("prefix"), o.shares()
	read := shared || slices.ContainsFunc(wanted, func(s *servers.Service) bool { return s.Prefixes })
	switch {
	case opt.text == "" && shared:
		return "", o.complain(o.get("shared"),
			"runs that are to contend find each other by a prefix: give all of them the same one, as in -prefix ours:")
	case opt.text != "" && !keyPrefix.MatchString(opt.text):
		return "", o.complain(opt, "must be up to 64 letters, digits and : . _ / - as app:locks: has them")
	case opt.text != "" && !read:
		return "", o.complain(opt, "is for the keys of Redis and etcd; a user of ZooKeeper may be kept to a chroot, "+
			"one of a database to a database, which stand in -addr")
	}
	return opt.text, nil
}

// shares reports whether a run is to contend with others.
func (o *options) shares() bool {
	text := o.text("shared")
	return strings.Contains(text, spec.On) || text == "true"
}

// keyPrefix leaves out what has a meaning in a cluster (braces), in patterns, or in a shell.
var keyPrefix = regexp.MustCompile(`^[A-Za-z0-9:._/-]{1,64}$`)

// refuse complains about the first of those flags that is on the command line. Variables pass: they are set once for many runs.
func (o *options) refuse(flags []string, why string) error {
	for _, name := range flags {
		if o.get(name).from == fromFlag {
			return usageErrorf("-%s: %s", name, why)
		}
	}
	return nil
}

// addrs returns the addresses of a service in its variable; nil if there are none, or it has none.
func (e environ) addrs(s *servers.Service) []string {
	if url, _ := e.lookup(s.Variable); s.Variable != "" && url != "" {
		return drivers.SplitAddrs(url)
	}
	return nil
}
