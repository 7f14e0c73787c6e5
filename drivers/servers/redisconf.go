package servers

// The configuration file of a private Redis server.

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// redisDefaults apply unless RedisOptions.Config says otherwise.
var redisDefaults = map[string]string{
	"save":        `""`,   // no snapshots: nothing is kept, and nothing disturbs the measurement
	"tcp-backlog": "4096", // thousands of clients connect at once, and a full unix backlog refuses at once
}

// redisReserved are the directives that callers cannot set, with what to use instead.
var redisReserved = map[string]string{
	"port": "TCP", "bind": "TCP", "unixsocket": "TCP", "unixsocketperm": "TCP", "tls-port": "TLS",
	"tls-cert-file": "TLS", "tls-key-file": "TLS", "tls-ca-cert-file": "TLS",
	"requirepass": "Password", "user": "Username", "aclfile": "Username",
	"dir": "", "logfile": "", "daemonize": "", "supervised": "", "include": "",
}

// redisConf returns the file for a server that listens on p, or on a unix socket in dir if p is nil.
func redisConf(o RedisOptions, dir string, p *port) (string, error) {
	directives := maps.Clone(redisDefaults)
	if o.Durability == Strict {
		directives["appendonly"], directives["appendfsync"] = "yes", "always"
	}
	for name, value := range o.Config {
		name = strings.ToLower(name)
		if err := settable("directive", name, notInDirective, "RedisOptions", redisReserved); err != nil {
			return "", err
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return "", fmt.Errorf("directive %s: its value has more than one line", name)
		}
		if strings.TrimSpace(value) == "" {
			value = `""`
		}
		directives[name] = value
	}

	directives["daemonize"] = "no"
	directives["dir"] = strconv.Quote(dir)
	directives["logfile"] = `""` // standard output: errors about this very file go there as well
	switch {
	case p == nil:
		directives["port"] = "0"
		directives["unixsocket"] = strconv.Quote(filepath.Join(dir, "redis.sock"))
		directives["unixsocketperm"] = "700"
	case o.TLS:
		directives["port"] = "0"
		directives["tls-port"] = strconv.Itoa(p.number)
		directives["tls-cert-file"] = strconv.Quote(filepath.Join(dir, certFile))
		directives["tls-key-file"] = strconv.Quote(filepath.Join(dir, keyFile))
		directives["tls-ca-cert-file"] = strconv.Quote(filepath.Join(dir, caFile))
		if _, chosen := directives["tls-auth-clients"]; !chosen {
			directives["tls-auth-clients"] = "no"
		}
	default:
		directives["port"] = strconv.Itoa(p.number)
	}
	if p != nil {
		directives["bind"] = "127.0.0.1"
	}

	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(directives)) {
		fmt.Fprintf(&b, "%s %s\n", name, directives[name])
	}
	for _, line := range o.lines {
		fmt.Fprintln(&b, line)
	}
	users, err := redisUsers(o)
	return b.String() + users, err
}

// settable says why a caller cannot set something of the kind: it is reserved, with an option to use instead or "", or its name has
// other characters.
func settable(kind, name string, other func(rune) bool, options string, reserved map[string]string) error {
	instead, taken := reserved[name]
	switch {
	case instead != "":
		return fmt.Errorf("%s %s: use %s.%s", kind, name, options, instead)
	case taken:
		return fmt.Errorf("%s %s is not for the caller to set", kind, name)
	case name == "" || strings.ContainsFunc(name, other):
		return fmt.Errorf("%s %q: no %s has such a name", kind, name, kind)
	}
	return nil
}

// notInDirective reports whether r cannot be in the name of a directive.
func notInDirective(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }

// redisUsers returns the lines that make the users. They have only the password's hash, so that neither the file nor
// what the server prints about an invalid line can reveal it.
func redisUsers(o RedisOptions) (string, error) {
	if o.Password == "" {
		return "", nil
	}
	hash := sha256.Sum256([]byte(o.Password))
	name, first := "default", ""
	if o.Username != "" {
		if strings.ContainsFunc(o.Username, notInUser) {
			return "", errors.New("the user name has other characters than letters, digits and .-_")
		}
		if name = o.Username; name != "default" {
			first = "user default off\n"
		}
	}
	return fmt.Sprintf("%suser %s on #%x ~* &* +@all\n", first, name, hash), nil
}

// notInUser reports whether r cannot be in a private server's user name; Redis itself allows more.
func notInUser(r rune) bool { return notInDirective(r) && (r < 'A' || r > 'Z') && r != '.' && r != '_' }

// redisSecrets returns the values in the file that must not show in the server's log: Redis prints the whole line of
// its configuration that it cannot read.
func redisSecrets(o RedisOptions) []string {
	var secrets []string
	if len(o.lines) > 0 && o.Password != "" {
		secrets = append(secrets, quoteRedis(o.Password), o.Password) // the lines may contain it for the other members
	}
	for name, value := range o.Config {
		name = strings.ToLower(name)
		if secret := strings.Trim(value, `"' `); secret != "" && (strings.Contains(name, "pass") || strings.HasSuffix(name, "auth")) {
			secrets = append(secrets, secret)
		}
	}
	return secrets
}

// quoteRedis quotes a value for redis.conf, whatever its bytes.
func quoteRedis(value string) string {
	b := []byte{'"'}
	for _, c := range []byte(value) {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c > '~':
			b = fmt.Appendf(b, `\x%02x`, c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}
