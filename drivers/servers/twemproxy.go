package servers

// A private twemproxy before private Redis servers.

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Twemproxy is a private twemproxy (nutcracker), which spreads keys over servers, and ends the connection of a client that sends
// a command that it does not know: HELLO, INFO, CONFIG, SCAN and all that concerns no key. Its methods are safe for concurrent use.
type Twemproxy struct{ *process }

// StartTwemproxy starts a private twemproxy before servers that listen on ports, without TLS, which it does not own. It asks clients for
// the password that the servers have, if any, and returns when it answers. ctx bounds the start, not the life of the proxy. The caller closes it.
func StartTwemproxy(ctx context.Context, behind ...*Redis) (*Twemproxy, error) {
	binary, err := FindTwemproxy()
	if err != nil {
		return nil, err
	}
	return startServer(ctx, place{name: "twemproxy"}, func(p *process) (*Twemproxy, error) { return setUpTwemproxy(p, binary, behind) })
}

func setUpTwemproxy(p *process, binary string, behind []*Redis) (*Twemproxy, error) {
	port, err := p.reserve()
	if err != nil {
		return nil, err
	}
	stats, err := p.reserve() // it cannot do without
	if err != nil {
		return nil, err
	}
	p.url = "redis://" + port.addr()
	p.argv = []string{binary, "-c", p.dir.file("nutcracker.yml"), "-a", "127.0.0.1", "-s", strconv.Itoa(stats.number)}
	l := login{network: "tcp", address: port.addr(), password: behind[0].login.password}
	p.ready = func(ctx context.Context, _ int) error {
		_, err := l.ask(ctx, command{"PING"})
		return err
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
	return &Twemproxy{p}, p.write("nutcracker.yml", strings.Join(conf, "\n")+"\n")
}

// FindTwemproxy returns the path of the proxy that StartTwemproxy runs. The error wraps exec.ErrNotFound and says what to install.
func FindTwemproxy() (path string, err error) {
	return twemproxyProgram.find("")
}

var twemproxyProgram = program{
	"twemproxy", []string{"nutcracker", "twemproxy"}, []string{"", "/usr/sbin"}, "the package nutcracker (Debian, Ubuntu)",
}
