// Which servers a run is aimed at: decided here from flags and environment, started in server.go.

package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/secrets"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// targets are the servers of a run before anything has been started or asked: one target for each service that its
// drivers measure, and none if they need no server.
type targets struct {
	list []target
	why  string // for people, if the list is empty: why there is none
}

// target is the server of one service, or several that make one.
type target struct {
	service *servers.Service
	kind    string // as plans name it
	why     string // for people: why this one
	binary  string // private: the program
	missing error  // private: there is no program; it says what to install

	fallback bool // embedded because there is nothing better

	// The rest is for external servers alone.
	urls     []string         // may carry passwords: never printed
	redacted string           // without users and passwords, a comma list
	network  string           // "unix", "tcp", "tls"
	secrets  []drivers.Secret // that the drivers find in the addresses, or where those send them
	login
}

// login is how the user's servers are logged in to. It is the same for all of a run; what differs stands in the URLs.
type login struct {
	master       string // the sentinels' name for the primary
	user         string
	password     drivers.Secret
	passwordFile string
	db           string
	tls          tlsFiles
}

// tlsFiles names what a TLS connection is verified with.
type tlsFiles struct{ ca, cert, key, serverName string }

// of is the target that cells of a driver run on. Drivers without a service have none, which is one too.
func (t targets) of(driver string) target {
	if s := serviceOf(driver); s != nil {
		for _, one := range t.list {
			if one.service == s {
				return one
			}
		}
	}
	return target{kind: matrix.InProcess}
}

// server is what plans for it are resolved with.
func (t target) server() matrix.Server {
	if t.missing == nil && t.kind == matrix.Embedded && t.service.Embedded == nil {
		return matrix.Server{Kind: t.kind, Flag: "-server embedded",
			Err: fmt.Errorf("only Redis has a stand-in inside lockbench; -server private starts %s", t.service.Name)}
	}
	return matrix.Server{Kind: t.kind, Err: t.missing}
}

// teach adds what logs in to the targets of both sides.
func (p plan) teach(s *secrets.Secrets) {
	all := []targets{p.targets}
	for _, one := range p.sides {
		all = append(all, one.plan.targets)
	}
	for _, t := range all {
		for _, one := range t.list {
			s.Add(string(one.password))
			for _, secret := range one.secrets {
				s.Add(string(secret))
			}
		}
	}
}

// lines describe the targets without any secret, each in a line.
func (t targets) lines() []string {
	if len(t.list) == 0 {
		return []string{fmt.Sprintf("%s (%s)", matrix.InProcess, t.why)}
	}
	var lines []string
	for _, one := range t.list {
		line := one.String()
		if len(t.list) > 1 {
			line = one.service.Name + ": " + line
		}
		lines = append(lines, line)
	}
	return lines
}

// String describes the target without any secret.
func (t target) String() string {
	s := string(t.kind)
	switch {
	case t.missing != nil:
		s += ", which is not here"
	case t.kind == matrix.Private:
		s += " " + t.binary
	case t.kind == matrix.External:
		s += " " + t.redacted
	}
	if t.why != "" {
		s += " (" + t.why + ")"
	}
	return s
}

// join is the targets of t and of other together, if the cells of both can share the servers: each service has the same in
// both, and nothing that logs in to a user's server would reach one of our own.
func (t targets) join(other targets) (targets, bool) {
	all := targets{list: slices.Clone(t.list), why: t.why}
	for _, b := range other.list {
		known := false
		for _, a := range t.list {
			if (a.kind == matrix.External) != (b.kind == matrix.External) || a.login != b.login {
				return targets{}, false
			}
			if a.service != b.service {
				continue
			}
			if a.kind != b.kind || !slices.Equal(a.urls, b.urls) {
				return targets{}, false
			}
			known = true
		}
		if !known {
			all.list = append(all.list, b)
		}
	}
	return all, true
}

// flags are the flags that aim a run at the same target, by name; see commandLine.
func (t target) flags() map[string]string {
	if t.kind != matrix.External {
		return map[string]string{"server": string(t.kind)}
	}
	return map[string]string{
		"addr":   t.redacted,
		"master": t.master, "user": t.user, "password-file": t.passwordFile, "db": t.db,
		"tls-ca": t.tls.ca, "tls-cert": t.tls.cert, "tls-key": t.tls.key, "tls-server-name": t.tls.serverName,
	}
}

// externalFlags make sense for a user's own server only.
var externalFlags = []string{"master", "user", "password-file", "db", "tls-ca", "tls-cert", "tls-key", "tls-server-name"}

// serverChoices are the values of -server.
var serverChoices = []string{"auto", matrix.Private, matrix.Embedded, matrix.External}

// decideTargets picks the servers: -addr, else the service's own variable, else what -server says, where an explicit
// -server overrides whatever is merely in the environment. find looks for the program of a service.
func decideTargets(o *options, env environ, find func(*servers.Service) (string, error)) (targets, error) {
	kind := o.get("server")
	if !slices.Contains(serverChoices, kind.text) {
		return targets{}, usageErrorf("%s: unknown server %q%s; there are %s", kind.written(), kind.text,
			didYouMean("", kind.text, serverChoices), strings.Join(serverChoices, ", "))
	}
	names, err := o.driverNames()
	who := strings.Join(names, ",")
	if err != nil || slices.ContainsFunc(names, unknownDriver) {
		return targets{why: "there is no such driver"}, nil // which planOf says better
	}
	wanted := servicesOf(names)
	if len(wanted) == 0 {
		t := targets{why: who + " needs no server"}
		if kind.from == fromFlag && kind.text != "auto" {
			return t, usageErrorf("%s: %s needs no server", kind.written(), who)
		}
		return t, o.refuse(append([]string{"addr"}, externalFlags...), who+" runs in-process and reads no address")
	}
	addrs, why, err := findAddrs(o, env, wanted)
	if err != nil {
		return targets{}, err
	}
	if addrs != nil {
		return describe(addrs, why, o, env, wanted)
	}
	var t targets
	for _, s := range wanted {
		one, err := pickOwn(kind, s, find)
		if err != nil {
			return targets{}, err
		}
		t.list = append(t.list, one)
	}
	inProcess := func(name string) bool { return !matrix.Addressed(name) }
	if len(wanted) == 1 && t.list[0].missing != nil && !slices.ContainsFunc(names, inProcess) {
		return targets{}, t.list[0].missing
	}
	return t, o.refuse(externalFlags,
		"is for a server of yours, and this run has one of our own ("+t.list[0].kind+"): give -addr")
}

func unknownDriver(name string) bool {
	_, err := drivers.Lookup(name)
	return err != nil
}

// pickOwn is a target that lockbench starts itself.
func pickOwn(kind *option, s *servers.Service, find func(*servers.Service) (string, error)) (target, error) {
	switch kind.text {
	case "external":
		if s.Variable != "" {
			return target{}, usageErrorf("%s: which one? give -addr, or set %s", kind.written(), s.Variable)
		}
		return target{}, usageErrorf("%s: which one? give -addr %s", kind.written(), s.Example())
	case "embedded":
		return target{service: s, kind: matrix.Embedded, why: strings.Fields(kind.written())[0]}, nil
	}
	binary, err := find(s)
	switch {
	case err == nil:
		return target{service: s, kind: matrix.Private, binary: binary}, nil
	case kind.text == "private":
		return target{service: s, kind: matrix.Private, missing: fmt.Errorf("-server private: %w", err)}, nil
	case s.Embedded != nil:
		return target{service: s, kind: matrix.Embedded, why: "no " + s.Name + "-server on PATH", fallback: true}, nil
	}
	return target{service: s, kind: matrix.Private, missing: err}, nil
}

// describe completes the external targets.
func describe(addrs map[*servers.Service][]string, why string, o *options, env environ, wanted []*servers.Service) (targets, error) {
	var all targets
	l, err := readLogin(o, env, wanted)
	if err != nil {
		return all, err
	}
	for _, s := range wanted {
		t := target{service: s, kind: matrix.External, why: why, urls: addrs[s], login: l}
		if s.Database == servers.DatabaseNone {
			t.db = ""
		}
		var redacted []string
		for i, addr := range t.urls {
			read, err := readAddr(s, addr)
			if err != nil {
				return all, usageErrorf("%s: %w", why, err)
			}
			redacted = append(redacted, read.Redacted)
			t.secrets = append(t.secrets, read.Password)
			if i > 0 && read.Network != t.network {
				return all, usageErrorf("%s: %s is reached otherwise than %s: all servers must be reached alike",
					why, redacted[i], redacted[0])
			}
			t.network = read.Network
		}
		t.redacted = strings.Join(redacted, ",")
		if t.tls != (tlsFiles{}) {
			t.network = "tls"
		}
		all.list = append(all.list, t)
	}
	return all, nil
}

// readLogin reads what the flags say about logging in.
func readLogin(o *options, env environ, wanted []*servers.Service) (login, error) {
	password, _ := env.lookup(passwordVariable)
	l := login{
		master: o.text("master"), user: o.text("user"), password: drivers.Secret(password),
		passwordFile: o.text("password-file"), db: o.text("db"),
		tls: tlsFiles{o.text("tls-ca"), o.text("tls-cert"), o.text("tls-key"), o.text("tls-server-name")},
	}
	if err := checkDB(o.get("db"), wanted); err != nil {
		return l, err
	}
	switch {
	case (l.tls.cert == "") != (l.tls.key == ""):
		return l, usageErrorf("-tls-cert and -tls-key belong together: give both")
	case l.passwordFile != "" && l.password != "":
		if o.get("password-file").from != fromFlag {
			return l, usageErrorf("LOCKBENCH_PASSWORD and LOCKBENCH_PASSWORD_FILE are both set: keep one")
		}
		l.password = "" // the flag wins over the variable
	}
	return l, nil
}

// checkDB wants of a database what the services of the run call one.
func checkDB(db *option, wanted []*servers.Service) error {
	if db.text == "" {
		return nil
	}
	kinds := map[servers.Database]*servers.Service{}
	for _, s := range wanted {
		kinds[s.Database] = cmp.Or(kinds[s.Database], s)
	}
	numbered, named := kinds[servers.DatabaseNumber], kinds[servers.DatabaseName]
	n, err := spec.ParseInt(db.text)
	switch {
	case numbered == nil && named == nil:
		return usageErrorf("%s: %s has no databases", db.written(), serviceNames(wanted))
	case numbered != nil && named != nil:
		return usageErrorf("%s: %s has numbered databases and %s named ones: write them into -addr",
			db.written(), numbered.Name, named.Name)
	case numbered != nil && (err != nil || n < 0):
		return usageErrorf("%s: must be a number from 0", db.written())
	}
	return nil
}

// refuse complains about the first of those flags that is on the command line. Variables pass: they are set once
// for many runs.
func (o *options) refuse(flags []string, why string) error {
	for _, name := range flags {
		if o.get(name).from == fromFlag {
			return usageErrorf("-%s: %s", name, why)
		}
	}
	return nil
}
