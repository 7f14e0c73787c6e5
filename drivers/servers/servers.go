// Package servers starts private servers for a run or a test: children of this process in temp dirs of their own,
// and the embedded stand-in that needs no binary at all.
//
// A private server is reachable by this machine's user alone (a unix socket or a loopback port), keeps nothing, and
// never outlives its parent for long: on Linux the kernel kills it together with the parent, and everywhere the
// next lockbench sweeps what a dead one has left behind. It sits in a process group of its own, so that a Ctrl-C
// at the terminal reaches the parent alone, which then cleans up.
//
// The package is in layers: tempDir (a locked directory), child (one process in one tempDir), and on top of them
// what a particular server needs: its configuration and its way of saying that it is ready.
package servers
