package machine

import (
	"fmt"
	"os"
	"strings"

	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// Limits are those of this machine that a run can hit. Zero means unknown.
type Limits struct {
	Files int // open files of this process
	Ports int // local ports for connections to one address
}

// spareFiles are the files that a process has open besides its connections.
const spareFiles = 64

// Check returns an error about what a cell lacks on this machine, whose server is reached by that network. The runtime has
// raised the soft limit on files to the hard one when the program began (https://go.dev/issue/46279), so what is missing here
// needs the user.
func (m Limits) Check(p *spec.Plan, network string) error {
	conns := matrix.Connections(p)
	all := conns * max(1, p.Nodes)
	files := all + spareFiles
	if network == matrix.Embedded {
		files += all // the other ends are ours too
	}
	if all > 0 && m.Files > 0 && files > m.Files {
		return fmt.Errorf("%d connections need %d open files, and this process may have %d: raise it with `ulimit -n %d`, or lower -conns or -clients",
			all, files, m.Files, files)
	}
	if network != "unix" && m.Ports > 0 && conns > m.Ports {
		return fmt.Errorf("%d connections to one address need as many local ports, and there are %d (net.ipv4.ip_local_port_range): lower -conns or -clients",
			conns, m.Ports)
	}
	return nil
}

// ReadLimits asks the system.
func ReadLimits() Limits {
	m := Limits{Files: fileLimit()}
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		m.Ports = parsePortRange(string(text))
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
