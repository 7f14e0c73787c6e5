// Which servers a run is aimed at: decided here from flags and environment, started by package target.

package cli

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/secrets"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
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

// flagsOf returns the flags that aim a run at the same target, by name; see commandLine.
func flagsOf(t target.Target) map[string]string {
	if t.Kind != matrix.External {
		return map[string]string{"addr": t.Kind}
	}
	skip := ""
	if t.TLS.SkipVerify {
		skip = "true"
	}
	return map[string]string{
		"addr": t.Shown, "password-file": t.PasswordFile, "prefix": t.Prefix,
		"tls-ca": t.TLS.CA, "tls-cert": t.TLS.Cert, "tls-server-name": t.TLS.ServerName,
		"tls-skip-verify": skip,
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
	who := strings.Join(names, ",")
	if err := o.startDrivers(names); err != nil {
		return target.Targets{}, err
	}
	if err != nil || slices.ContainsFunc(names, unknownDriver) {
		return target.Targets{Why: "there is no such driver"}, nil // which experimentOn says better
	}
	wanted := target.Services(names)
	if slices.ContainsFunc(names, unstartedCommand) {
		for _, addr := range drivers.SplitAddrs(o.text("addr")) { // there is nothing else that tells its service
			scheme, _, _ := strings.Cut(addr, "://")
			if s := ownerOf(scheme); s != nil && !slices.Contains(wanted, s) {
				wanted = append(wanted, s)
			}
		}
		if len(wanted) == 0 {
			return target.Targets{Why: "or what the adapter needs, which is not started here"}, nil
		}
	}
	if len(wanted) == 0 {
		return target.Targets{Why: who + " needs no server"},
			o.refuse(append([]string{"addr"}, externalFlags...), who+" runs in-process and reads no address")
	}
	addrs, why, err := findAddrs(o, env, wanted)
	if err != nil {
		return target.Targets{}, err
	}
	if addrs != nil {
		return describe(addrs, why, o, env, wanted)
	}
	var t target.Targets
	for _, s := range wanted {
		t.List = append(t.List, pickOwn(o.get("addr"), s, find))
	}
	inProcess := func(name string) bool { return !matrix.Addressed(name) }
	if len(wanted) == 1 && t.List[0].Missing != nil && !slices.ContainsFunc(names, inProcess) {
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
	if opt := o.get("driver"); opt.from == fromFile && slices.ContainsFunc(strings.Split(opt.text, ","), isCommand) {
		return o.complain(opt, "a workload starts no command: give -driver on the command line")
	}
	for _, name := range names {
		if !drivers.Unstarted(name) || o.on("dry-run") {
			continue
		}
		if _, err := drivers.Start(name); err != nil {
			return o.complain(o.get("driver"), "%w", err)
		}
	}
	return nil
}

func isCommand(name string) bool { return drivers.IsCommand(strings.TrimSpace(name)) }

// unstartedCommand reports whether a driver is an adapter of which nothing is known.
func unstartedCommand(name string) bool { return drivers.IsCommand(name) && drivers.Unstarted(name) }

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

// describe completes the external targets.
func describe(addrs map[*servers.Service][]string, why string, o *options, env environ, wanted []*servers.Service) (target.Targets, error) {
	var all target.Targets
	l, err := readLogin(o, env)
	if err == nil {
		l.Prefix, err = readPrefix(o, wanted)
	}
	if err != nil {
		return all, err
	}
	for _, s := range wanted {
		t := target.Target{Service: s, Kind: matrix.External, Why: why, URLs: addrs[s], Login: l}
		if !s.Prefixes && !o.shares() {
			t.Prefix = ""
		}
		var redacted, shown []string
		unverified := false
		for i, addr := range t.URLs {
			read, err := target.ReadAddr(s, addr)
			if err != nil {
				return all, usageErrorf("%s: %w", why, err)
			}
			redacted, shown = append(redacted, read.Redacted), append(shown, read.Redacted)
			if read.User != "" && (read.Password != "" || l.Password != "" || l.PasswordFile != "") { // else it may be a misplaced password
				shown[i] = strings.Replace(read.Redacted, "://", "://"+url.User(read.User).String()+"@", 1)
			}
			t.Secrets = append(t.Secrets, read.Password)
			if i > 0 && read.Network != t.Network {
				return all, usageErrorf("%s: %s is reached otherwise than %s: all servers must be reached alike",
					why, redacted[i], redacted[0])
			}
			t.Network, unverified = read.Network, unverified || read.Unverified
		}
		t.Redacted, t.Shown = strings.Join(redacted, ","), strings.Join(shown, ",")
		if t.TLS != (target.TLSFiles{}) {
			t.Network, unverified = "tls", t.TLS.SkipVerify
		}
		if unverified {
			t.Network = results.Unverified
		}
		all.List = append(all.List, t)
	}
	return all, nil
}

// readLogin reads what the flags say about logging in.
func readLogin(o *options, env environ) (target.Login, error) {
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
	case l.PasswordFile != "" && l.Password != "":
		if o.get("password-file").from != fromFlag {
			return l, usageErrorf("LOCKBENCH_PASSWORD and LOCKBENCH_PASSWORD_FILE are both set: keep one")
		}
		l.Password = "" // the flag wins over the variable
	}
	return l, nil
}

// readPrefix reads what the names of a run are to begin with.
func readPrefix(o *options, wanted []*servers.Service) (string, error) {
	prefix := o.find("prefix")
	switch {
	case prefix == nil: // clean
		return "", nil
	case prefix.text == "" && o.shares():
		return "", o.complain(o.get("shared"), "runs that are to contend find each other by a prefix: give all of them the same one, as in -prefix %s", "ours:")
	case prefix.text == "":
	case !keyPrefix.MatchString(prefix.text):
		return "", usageErrorf("%s: must be up to 64 letters, digits and : . _ / - as %s has them", prefix.written(), "app:locks:")
	case !o.shares() && !slices.ContainsFunc(wanted, func(s *servers.Service) bool { return s.Prefixes }):
		return "", usageErrorf("%s: is for the keys of Redis and etcd; a user of ZooKeeper may be kept to a chroot, one of a database "+
			"to a database, which stand in -addr", prefix.written())
	}
	return prefix.text, nil
}

// shares reports whether a run is to contend with others.
func (o *options) shares() bool {
	opt := o.find("shared")
	return opt != nil && (strings.Contains(opt.text, spec.On) || opt.text == "true")
}

// keyPrefixes leaves out what has a meaning in a cluster (braces), in patterns, or in a shell.
const keyPrefixes = `[A-Za-z0-9:._/-]{1,64}`

var keyPrefix = regexp.MustCompile(`^` + keyPrefixes + `$`)

// refuse complains about the first of those flags that is on the command line. Variables pass: they are set once for many runs.
func (o *options) refuse(flags []string, why string) error {
	for _, name := range flags {
		if o.get(name).from == fromFlag {
			return usageErrorf("-%s: %s", name, why)
		}
	}
	return nil
}

// findAddrs returns the addresses of each service, and the flag or variable that has them. There are none if the servers
// are to be our own; otherwise every service has some.
func findAddrs(o *options, env environ, wanted []*servers.Service) (addrs map[*servers.Service][]string, why string, err error) {
	addr := o.get("addr")
	switch {
	case slices.Contains(ownServers, addr.text):
	case addr.text != "":
		why = addr.flagOrVariable()
		addrs, err = assign(drivers.SplitAddrs(addr.text), why, wanted)
	default:
		addrs = map[*servers.Service][]string{}
		for _, s := range wanted {
			if list := env.addrs(s); list != nil {
				why, addrs[s] = s.Variable, list
			}
		}
	}
	if err != nil || len(addrs) == 0 {
		return nil, "", err
	}
	for _, s := range wanted {
		if len(addrs[s]) == 0 {
			remedy := "drop it"
			if why != addr.flagOrVariable() || addr.from == fromVariable {
				remedy = "give -addr private"
			}
			return nil, "", usageErrorf("%s names no server of %s, and yours and ours do not compare: "+
				"add %s to -addr, or %s, and lockbench starts all of them",
				why, s.Name, s.Example(), remedy)
		}
	}
	return addrs, why, nil
}

// assign gives each address to the service of its scheme, and one without to the only service of the run. Nothing of an
// address is quoted but a known scheme, because a password may be anywhere.
func assign(list []string, why string, wanted []*servers.Service) (map[*servers.Service][]string, error) {
	addrs := map[*servers.Service][]string{}
	for _, addr := range list {
		scheme, _, isURL := strings.Cut(addr, "://")
		owner := ownerOf(scheme)
		switch {
		case isURL && owner != nil && !slices.Contains(wanted, owner):
			return nil, usageErrorf("%s: %s:// is an address of %s, and no -driver of this run measures that: they need %s",
				why, scheme, owner.Name, examples(wanted))
		case isURL && owner != nil:
			addrs[owner] = append(addrs[owner], addr)
		case len(wanted) == 1:
			addrs[wanted[0]] = append(addrs[wanted[0]], addr)
		default:
			return nil, usageErrorf("%s: the run has several services, and an address that does not say whose it is: "+
				"begin each with one of %s",
				why, examples(wanted))
		}
	}
	return addrs, nil
}

// addrs returns the addresses of a service in its variable; nil if there are none, or it has none.
func (e environ) addrs(s *servers.Service) []string {
	if url, _ := e.lookup(s.Variable); s.Variable != "" && url != "" {
		return drivers.SplitAddrs(url)
	}
	return nil
}

// ownerOf returns the service whose addresses begin with the scheme, or nil.
func ownerOf(scheme string) *servers.Service {
	for _, s := range servers.Services() {
		if slices.Contains(s.Schemes, scheme) {
			return s
		}
	}
	return nil
}

// examples lists the schemes of some services.
func examples(list []*servers.Service) string {
	var all []string
	for _, s := range list {
		for _, scheme := range s.Schemes {
			all = append(all, scheme+"://")
		}
	}
	return strings.Join(all, ", ")
}
