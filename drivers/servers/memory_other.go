//go:build !linux

package servers

// Systems without a file system in memory at a known place.

func memoryRoot(int64) string { return "" }

func inMemory(string) bool { return false }

func memoryRoots() []string { return nil }
