// Which server a run is aimed at: decided here from flags and environment, started in server.go.

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
)

// serverKind says whose server it is; it is also the value of results.Plan.Server.
type serverKind string

const (
	private  serverKind = "private"  // a redis-server that lockbench starts
	embedded serverKind = "embedded" // a Redis look-alike in the process of lockbench
	external serverKind = "external" // the user's, treated as production

	// inProcess is no server at all: the drivers that need none. No flag asks for it, since it follows from -driver.
	inProcess serverKind = "in-process"
)

// target is the server of a run, before anything has been started or asked.
type target struct {
	kind   serverKind
	why    string // for people: why this one
	binary string // private: the program

	fallback bool // embedded because there is nothing better

	// The rest is for external servers alone.
	urls         []string // may carry passwords: never printed
	redacted     string   // without users and passwords, a comma list
	network      string   // "unix", "tcp", "tls"
	master       string
	user         string
	password     drivers.Secret
	passwordFile string
	db           string
	tls          tlsFiles
}

// tlsFiles names what a TLS connection is verified with.
type tlsFiles struct{ ca, cert, key, serverName string }

// kindFor is the kind of server that cells of a driver run on: drivers without a client library have none.
func (t target) kindFor(driver string) serverKind {
	if _, remote := libraries[driver]; !remote {
		return inProcess
	}
	return t.kind
}

// String describes the target without any secret.
func (t target) String() string {
	s := string(t.kind)
	switch t.kind {
	case private:
		s += " " + t.binary
	case external:
		s += " " + t.redacted
	}
	if t.why != "" {
		s += " (" + t.why + ")"
	}
	return s
}

// flags are the flags that aim a run at the same target, by name; see commandLine.
func (t target) flags() map[string]string {
	if t.kind != external {
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
var serverChoices = []string{"auto", string(private), string(embedded), string(external)}

// decideTarget picks the server: -addr, else REDIS_URL, else what -server says, where an explicit -server overrides
// whatever is merely in the environment. find looks for a redis-server, as servers.FindRedis does.
func decideTarget(o *options, env environ, find func() (string, error)) (target, error) {
	kind := o.get("server")
	if !slices.Contains(serverChoices, kind.text) {
		return target{}, usageErrorf("%s: unknown server %q%s; there are %s", kind.written(), kind.text,
			didYouMean("", kind.text, serverChoices), strings.Join(serverChoices, ", "))
	}
	if inProcessOnly(o.text("driver")) {
		t := target{kind: inProcess, why: o.text("driver") + " needs no server"}
		if kind.from == fromFlag && kind.text != "auto" {
			return t, usageErrorf("%s: %s needs no server", kind.written(), o.text("driver"))
		}
		return t, o.refuse(append([]string{"addr"}, externalFlags...), o.text("driver")+" runs in-process and reads no address")
	}
	t, err := pickTarget(o, env, find)
	if err != nil {
		return target{}, err
	}
	if t.kind != external {
		return t, o.refuse(externalFlags, "is for a server of yours, and this run has one of our own ("+string(t.kind)+"): give -addr")
	}
	return describe(t, o, env)
}

// pickTarget applies the order of precedence.
func pickTarget(o *options, env environ, find func() (string, error)) (target, error) {
	kind, addr := o.get("server"), o.get("addr")
	own := kind.text == "private" || kind.text == "embedded"
	redisURL, _ := env.lookup("REDIS_URL")
	switch {
	case own && addr.from == fromFlag && kind.from == fromFlag:
		return target{}, usageErrorf("-addr and %s exclude each other: the one names your server, the other asks for one of our own", kind.written())
	case addr.text != "" && (!own || addr.from > kind.from):
		return target{kind: external, urls: splitAddrs(addr.text), why: addrName(addr)}, nil
	case redisURL != "" && !own:
		return target{kind: external, urls: splitAddrs(redisURL), why: "REDIS_URL"}, nil
	case kind.text == "external":
		return target{}, usageErrorf("%s: which one? give -addr, or set REDIS_URL", kind.written())
	case kind.text == "embedded":
		return target{kind: embedded, why: strings.Fields(kind.written())[0]}, nil
	}
	binary, err := find()
	switch {
	case err == nil:
		return target{kind: private, binary: binary}, nil
	case kind.text == "private":
		return target{}, fmt.Errorf("-server private: %w", err)
	}
	return target{kind: embedded, why: "no redis-server on PATH", fallback: true}, nil
}

// splitAddrs cuts a comma list of addresses, but not at a comma that is part of a password: there an @ follows before
// the next address begins.
func splitAddrs(list string) []string {
	var addrs []string
	start := 0
	for i := range len(list) {
		if list[i] != ',' {
			continue
		}
		at, scheme := strings.Index(list[i:], "@"), strings.Index(list[i:], "://")
		if at >= 0 && (scheme < 0 || at < scheme) {
			continue
		}
		addrs = append(addrs, strings.TrimSpace(list[start:i]))
		start = i + 1
	}
	return append(addrs, strings.TrimSpace(list[start:]))
}

func addrName(addr *option) string {
	if addr.from == fromVariable {
		return addr.variable()
	}
	return "-addr"
}

// describe completes an external target.
func describe(t target, o *options, env environ) (target, error) {
	var redacted []string
	for i, url := range t.urls {
		parsed, err := redis.ParseTarget(url)
		if err != nil {
			return target{}, usageErrorf("%s: %w", t.why, err)
		}
		redacted = append(redacted, parsed.Redacted())
		if i > 0 && parsed.Network() != t.network {
			return target{}, usageErrorf("%s: %s is reached otherwise than %s: all servers must be reached alike", t.why, redacted[i], redacted[0])
		}
		t.network = parsed.Network()
	}
	t.redacted, t.master = strings.Join(redacted, ","), o.text("master")
	t.user, t.passwordFile, t.db = o.text("user"), o.text("password-file"), o.text("db")
	password, _ := env.lookup(passwordVariable)
	t.password = drivers.Secret(password)
	t.tls = tlsFiles{o.text("tls-ca"), o.text("tls-cert"), o.text("tls-key"), o.text("tls-server-name")}
	if t.tls != (tlsFiles{}) {
		t.network = "tls"
	}
	if n, err := parseInt(t.db); t.db != "" && (err != nil || n < 0) {
		return target{}, usageErrorf("%s: must be a number from 0", o.get("db").written())
	}
	switch {
	case (t.tls.cert == "") != (t.tls.key == ""):
		return target{}, usageErrorf("-tls-cert and -tls-key belong together: give both")
	case t.passwordFile != "" && t.password != "":
		if o.get("password-file").from != fromFlag {
			return target{}, usageErrorf("LOCKBENCH_PASSWORD and LOCKBENCH_PASSWORD_FILE are both set: keep one")
		}
		t.password = "" // the flag wins over the variable
	}
	return t, nil
}

// inProcessOnly reports whether every driver of the list needs no server. Unknown names count as needing one: the
// complaint about them comes later.
func inProcessOnly(driverList string) bool {
	names, err := parseList(driverList, parseText)
	return err == nil && !slices.ContainsFunc(names, func(name string) bool {
		_, remote := libraries[name]
		_, unknown := drivers.Lookup(name)
		return remote || unknown != nil
	})
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
