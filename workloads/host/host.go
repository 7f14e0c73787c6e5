// Package host reads what the operating system and Go's runtime say of the CPU time that lockbench and its machine got.
package host

import (
	"bytes"
	"io/fs"
	"strconv"
)

// MachineCPU reads Linux's /proc/stat, below the root of a file system: the time of all cores since boot, in seconds.
// Time stolen by the hypervisor counts as busy, since nothing here could use it.
func MachineCPU(root fs.FS) (busy, stolen, capacity float64) {
	stat, err := fs.ReadFile(root, "proc/stat")
	if err != nil {
		return 0, 0, 0
	}
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	if !bytes.HasPrefix(line, []byte("cpu ")) {
		return 0, 0, 0
	}
	return parseCPU(line)
}

// parseCPU reads the line "cpu user nice system idle iowait irq softirq steal …", whose unit is 1/100 s (proc(5)).
// The fields after steal are contained in the first two.
func parseCPU(line []byte) (busy, stolen, capacity float64) {
	fields := bytes.Fields(line)
	if len(fields) < 9 {
		return 0, 0, 0
	}
	for i, f := range fields[1:9] {
		ticks, err := strconv.ParseUint(string(f), 10, 64)
		if err != nil {
			return 0, 0, 0
		}
		capacity += float64(ticks) / 100
		if i != 3 && i != 4 { // idle, iowait
			busy += float64(ticks) / 100
		}
		stolen = float64(ticks) / 100 // the last one
	}
	return busy, stolen, capacity
}
