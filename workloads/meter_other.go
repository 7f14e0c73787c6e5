//go:build !unix

// The CPU time of this process, where there is no getrusage(2).

package workloads

import "time"

func processCPU() time.Duration { return -1 }
