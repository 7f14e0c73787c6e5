//go:build !linux

package servers

import "net"

const sharedMemory = "/dev/shm" // if there is one

func family(pid int) []int { return []int{pid} }

func memoryRoot(int64) string { return "" }

func inMemory(string) bool { return false }

// reservePort returns a port that was free a moment ago: SO_REUSEADDR would not let a server have one that this process
// holds.
func reservePort() (*port, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &port{number: l.Addr().(*net.TCPAddr).Port}, l.Close()
}
