// The limits of this machine that a run can hit.

package host

import (
	"fmt"
	"os"
	"strings"
)

// Limits are those of this machine that a run can hit. Zero means unknown.
type Limits struct {
	Files int // open files of this process
	Ports int // local ports for connections to one address
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
