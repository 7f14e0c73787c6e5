// Preflight: whether this machine and that server have room for the connections, before any load is made.

package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// machineLimits are the limits of this machine that a run can hit. Zero means unknown.
type machineLimits struct {
	files int // open files of this process
	ports int // local ports for connections to one address
}

// spareFiles are the files that a process has open besides its connections.
const spareFiles = 64

// check says what a cell lacks on this machine. The runtime has raised the soft limit on files to the hard one when
// the program began (https://go.dev/issue/46279), so what is missing here needs the user.
func (m machineLimits) check(c spec.Plan, network string) error {
	conns := matrix.Connections(&c)
	all := conns * max(1, c.Nodes)
	files := all + spareFiles
	if network == matrix.Embedded {
		files += all // the other ends are ours too
	}
	if all > 0 && m.files > 0 && files > m.files {
		return fmt.Errorf("%d connections need %d open files, and this process may have %d: raise it with `ulimit -n %d`, or lower -conns or -clients",
			all, files, m.files, files)
	}
	if network != "unix" && m.ports > 0 && conns > m.ports {
		return fmt.Errorf("%d connections to one address need as many local ports, and there are %d (net.ipv4.ip_local_port_range): lower -conns or -clients",
			conns, m.ports)
	}
	return nil
}

// readLimits asks the system.
func readLimits() machineLimits {
	m := machineLimits{files: fileLimit()}
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		m.ports = parsePortRange(string(text))
	}
	return m
}

// parsePortRange reads Linux's "32768\t60999"; anything else counts as unknown.
func parsePortRange(s string) int {
	var low, high int
	if n, err := fmt.Sscan(strings.TrimSpace(s), &low, &high); n != 2 || err != nil || low < 1 || high < low || high > 65535 {
		return 0
	}
	return high - low + 1
}

// checkRoom compares a cell with what its open service can take.
func checkRoom(c spec.Plan, svc drivers.Service) error {
	if most := svc.Traits().MaxSessions; most > 0 && c.Clients > most {
		remedy := "lower -clients"
		if s := serviceOf(c.Driver); s != nil && s.Limit != "" {
			remedy += ", or raise the server's " + s.Limit
		}
		return fmt.Errorf("-clients %d: %s %s can take %d clients here (a connection each, and a few for others): %s",
			c.Clients, c.Driver, c.Lock, most, remedy)
	}
	return nil
}

// checkServer compares a cell with what its server says of itself through svc, which has own connections to it, or
// to each of its nodes. It answers a warning, if the cell's may just not fit beside those of others.
func checkServer(ctx context.Context, c spec.Plan, svc drivers.Service, own int) (warning string, err error) {
	inspector, ok := drivers.As[drivers.Inspector](svc)
	if !ok {
		return "", nil
	}
	server, _, err := inspector.Inspect(ctx)
	if err != nil {
		return "", err
	}
	need, others, limit := matrix.Connections(&c), max(0, server.Connected-own), "its limit"
	if s := serviceOf(c.Driver); s != nil && s.Limit != "" {
		limit = s.Limit
	}
	switch {
	case server.MaxClients == 0:
	case need > server.MaxClients:
		lower := "-conns or -clients"
		if svc.Traits().MaxSessions > 0 { // each client has a connection
			lower = "-clients"
		}
		return "", fmt.Errorf("%d connections are needed and the server accepts %d (%s): lower %s, or raise %s",
			need, server.MaxClients, limit, lower, limit)
	case need > server.MaxClients-others:
		return fmt.Sprintf("the server has %d of its %d connections (%s) in use and this run needs up to %d: some may be refused",
			others, server.MaxClients, limit, need), nil
	}
	return "", nil
}
