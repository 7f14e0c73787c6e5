//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package servers

// The BSDs send no signal when a parent dies: there, Sweep finds the servers of killed parents.

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/drivers/spawn"
)

func family(pid int) []int { return []int{pid} }

func members(int) []int { return nil }

// stampOf identifies a living process by the second of its start. Together with its number that is unique: numbers are
// not reused within a second.
func stampOf(pid int) (string, error) {
	ps := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid))
	ps.Env = spawn.Environ()
	out, err := ps.Output()
	if err != nil {
		return "", fmt.Errorf("process %d: %w", pid, err)
	}
	fields := strings.Fields(string(out))
	if len(fields) < 2 || strings.HasPrefix(fields[0], "Z") {
		return "", fmt.Errorf("process %d: %w", pid, os.ErrProcessDone)
	}
	return strings.Join(fields[1:], "_"), nil
}

// ours reports whether the process with that number has the stamp.
func ours(pid int, stamp, _ string) bool { return lives(pid, stamp) }
