// Package host reads what the operating system and Go's runtime say of the CPU time that lockbench and its machine got.
package host

import (
	"bytes"
	"io/fs"
	"slices"
	"strconv"
)

// MachineCPU reads Linux's /proc/stat, below the root of a file system: the time of some cores since boot, in seconds; of all
// if the list is empty. Time stolen by the hypervisor counts as busy, since nothing here could use it.
func MachineCPU(root fs.FS, cores []int) (busy, capacity float64) {
	stat, err := fs.ReadFile(root, "proc/stat")
	if err != nil {
		return 0, 0
	}
	names := []string{"cpu"}
	if len(cores) > 0 {
		names = nil
		for _, c := range cores {
			names = append(names, "cpu"+strconv.Itoa(c))
		}
	}
	for line := range bytes.Lines(stat) {
		if name, _, _ := bytes.Cut(line, []byte(" ")); slices.Contains(names, string(name)) {
			b, c := parseCPU(line)
			busy, capacity = busy+b, capacity+c
		}
	}
	return busy, capacity
}

// parseCPU reads the line "cpu user nice system idle iowait irq softirq steal …", whose unit is 1/100 s (proc(5)).
// The fields after steal are contained in the first two.
func parseCPU(line []byte) (busy, capacity float64) {
	fields := bytes.Fields(line)
	if len(fields) < 9 {
		return 0, 0
	}
	for i, f := range fields[1:9] {
		ticks, err := strconv.ParseUint(string(f), 10, 64)
		if err != nil {
			return 0, 0
		}
		capacity += float64(ticks) / 100
		if i != 3 && i != 4 { // idle, iowait
			busy += float64(ticks) / 100
		}
	}
	return busy, capacity
}
