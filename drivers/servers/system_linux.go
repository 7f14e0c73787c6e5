package servers

// What only Linux has: descendants, file systems in memory at a known place, and ports that stay reserved.

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/lockbench/lockbench/drivers/spawn"
)

// family returns a process and its living descendants.
func family(pid int) []int {
	list := []int{pid}
	for _, child := range spawn.Children(pid) {
		list = append(list, family(child)...)
	}
	return list
}

// sharedMemory is a directory in memory that every Linux has, though it is often small in containers.
const sharedMemory = "/dev/shm"

// memoryRoot returns a directory in memory with that many bytes free, or "".
func memoryRoot(need int64) string {
	var fs unix.Statfs_t
	if !inMemory(sharedMemory) || unix.Statfs(sharedMemory, &fs) != nil ||
		int64(fs.Bavail)*int64(fs.Bsize) < need || unix.Access(sharedMemory, unix.W_OK) != nil {
		return ""
	}
	return sharedMemory
}

// inMemory reports whether dir is on a file system in memory.
func inMemory(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && (fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.RAMFS_MAGIC)
}

// reservePort binds a socket to a port and never listens. The kernel then gives the port to no process that asks for
// any free one (nor, as a local port, to a client that connects), but a server that asks for it by number gets it,
// because servers use SO_REUSEADDR. Otherwise the reconnecting clients of a killed server could take its port, or
// even connect to themselves.
func reservePort() (*port, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	p := &port{held: os.NewFile(uintptr(fd), "port")}
	if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	addr, noName := unix.Getsockname(fd)
	if err = errors.Join(err, noName); err != nil {
		p.free()
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	p.number = addr.(*unix.SockaddrInet4).Port
	return p, nil
}
