// The limits of this machine that a run can hit.

package host

import (
	"fmt"
	"os"
)

// Limits are those of this machine that a run can hit. Zero means unknown.
type Limits struct {
	Files int // open files of this process
	Ports int // local ports for connections to one address
}

// ReadLimits asks the system.
func ReadLimits() Limits {
	m := Limits{Files: fileLimit()}
	text, _ := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range") // Linux has "32768\t60999"
	var low, high int
	if n, _ := fmt.Sscan(string(text), &low, &high); n == 2 {
		m.Ports = high - low + 1
	}
	return m
}
