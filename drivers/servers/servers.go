// Package servers starts private servers for a run or a test: child processes in temp dirs of their own, and the
// embedded server, which needs no binary.
//
// A private server is reachable only by users of this machine (a unix socket or a loopback port), keeps nothing, and
// does not outlive its parent for long: on Linux the kernel kills it together with the parent. The next process that
// starts a server removes the directory of a dead one. It has its own process group, so that a Ctrl-C in the terminal
// reaches only the parent, which then cleans up.
//
// The package has layers: tempDir (a locked directory), process (one process in one tempDir), and above them what a
// particular server needs: its configuration and its readiness check.
package servers
