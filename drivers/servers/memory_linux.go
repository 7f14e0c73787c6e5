package servers

// File systems in memory, for servers that cannot be told not to use the disk.

import "golang.org/x/sys/unix"

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

// memoryRoots returns the directories in memory that may hold private directories.
func memoryRoots() []string {
	if !inMemory(sharedMemory) {
		return nil
	}
	return []string{sharedMemory}
}
