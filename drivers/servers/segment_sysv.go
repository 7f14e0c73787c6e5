//go:build linux || (darwin && !ios)

package servers

import "golang.org/x/sys/unix"

func init() { freeUnused = func(segment int) { _, _ = unix.SysvShmCtl(segment, unix.IPC_RMID, nil) } }
