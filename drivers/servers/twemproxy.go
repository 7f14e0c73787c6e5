package servers

// A private twemproxy before private Redis servers.

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Twemproxy is a private twemproxy (nutcracker), which spreads keys over servers, and ends the connection of a client that sends
// a command that it does not know: HELLO, INFO, CONFIG, SCAN and all that concerns no key. Its methods are safe for concurrent use.
type Twemproxy struct{ process }

// StartTwemproxy starts a private twemproxy before servers that listen on ports, without TLS, which it does not own. It asks clients for
// the password that the servers have, if any, and returns when it answers. ctx bounds the start, not the life of the proxy. The caller closes it.
func StartTwemproxy(ctx context.Context, behind ...*Redis) (*Twemproxy, error) {
	binary, err := FindTwemproxy()
	if err != nil {
		return nil, err
	}
	return startServer(ctx, "twemproxy", func() (*Twemproxy, error) { return newTwemproxy(binary, behind) })
}

func newTwemproxy(binary string, behind []*Redis) (_ *Twemproxy, err error) {
	dir, err := newTempDir(tempRoot())
	if err != nil {
		return nil, err
	}
	file := dir.file("nutcracker.yml")
	p := &Twemproxy{process{child: &child{name: "twemproxy", dir: dir}}}
	defer closeAfter(&err, p)
	port, err := p.reserve(reservePort)
	if err != nil {
		return nil, err
	}
	stats, err := p.reserve(reservePort) // it cannot do without
	if err != nil {
		return nil, err
	}
	p.url = "redis://" + port.addr()
	p.child.argv = []string{binary, "-c", file, "-a", "127.0.0.1", "-s", strconv.Itoa(stats.number)}
	l := login{network: "tcp", address: port.addr(), password: behind[0].login.password}
	p.child.ready = func(ctx context.Context, _ int) error {
		return converse(ctx, l, func(ask func(...string) (string, error)) error {
			_, err := ask("PING")
			return err
		})
	}
	conf := []string{
		"lockbench:", "  listen: " + port.addr(), "  redis: true", "  hash: fnv1a_64", "  distribution: ketama", "  servers:",
	}
	if l.password != "" {
		conf = slices.Insert(conf, 1, "  redis_auth: "+l.password)
	}
	for i, r := range behind {
		conf = append(conf, fmt.Sprintf("   - %s:1 server%d", r.login.address, i))
	}
	return p, os.WriteFile(file, []byte(strings.Join(conf, "\n")+"\n"), 0o600)
}

// FindTwemproxy returns the path of the proxy that StartTwemproxy runs. The error wraps exec.ErrNotFound and says what to install.
func FindTwemproxy() (path string, err error) {
	return find("twemproxy", "", []string{"nutcracker", "twemproxy"}, []string{"", "/usr/sbin"}, "the package nutcracker (Debian, Ubuntu)")
}
