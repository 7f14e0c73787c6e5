// Systems that tell none of this in the usual way.

//go:build !unix

package host

import "time"

func fileLimit() int            { return 0 }
func kernel() string            { return "" }
func ProcessCPU() time.Duration { return -1 }
