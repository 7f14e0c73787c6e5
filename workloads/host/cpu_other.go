//go:build !unix

// The CPU time of this process, where there is no getrusage(2).

package host

import "time"

func ProcessCPU() time.Duration { return -1 }
