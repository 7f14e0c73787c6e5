package servers

// Private directories, and how those of dead processes are removed.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	dirPrefix = "lockbench-server-"
	newPrefix = "lockbench-new-" // a directory whose lock is not held yet
	lockFile  = "lock"

	// maxSocketPath is the capacity of the shortest sockaddr_un (darwin: 104 bytes, including the final NUL).
	maxSocketPath = 103
	// longestSocket is the longest path below the temp dir of a socket of this package's servers.
	longestSocket = "/" + dirPrefix + "4294967295/.s.PGSQL.5432"
)

// tempDir is a directory of a living process, which holds the lock on a file in it as long as it lives: the kernel
// drops the lock when the process ends, for whatever reason. Its servers hold the lock too.
type tempDir struct {
	path string
	lock *os.File
}

// newTempDir makes a private directory in root. It gets its final name only once its lock is held, so no sweep ever
// sees a half-made one.
func newTempDir(root string) (*tempDir, error) {
	path, err := os.MkdirTemp(root, newPrefix) // mode 0700
	if err != nil {
		return nil, fmt.Errorf("no directory for its files: %w; "+
			"TMPDIR names the directory for temporary files, which has to exist and to be writable", err)
	}
	d := &tempDir{path: path}
	if d.lock, err = os.OpenFile(d.file(lockFile), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err == nil {
		err = tryLock(d.lock)
	}
	final := filepath.Join(root, strings.Replace(filepath.Base(path), newPrefix, dirPrefix, 1))
	if err == nil {
		err = os.Rename(path, final)
	}
	if err != nil {
		return nil, errors.Join(err, d.remove())
	}
	d.path = final
	return d, nil
}

// NewDir returns a private directory for something else than a server, and what removes it. After the death of this
// process the next one that starts a server does.
func NewDir() (path string, remove func() error, err error) {
	d, err := newTempDir(tempRoot())
	if err != nil {
		return "", nil, err
	}
	return d.path, d.remove, nil
}

// Private reports whether a path is that of a directory of this user's, not a link, which nobody else can enter.
func Private(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.IsDir() && fi.Mode().Perm()&0o077 == 0 && ownedByUs(fi)
}

// file returns the path of a file in the directory.
func (d *tempDir) file(name string) string { return filepath.Join(d.path, name) }

func (d *tempDir) remove() error {
	err := os.RemoveAll(d.path)
	if err != nil {
		err = os.RemoveAll(d.path) // an ending process has put something there meanwhile
	}
	d.lock.Close()
	return err
}

// tempRoot returns the directory for private directories: the system's temp dir, or /tmp if the path of a unix socket
// in the former would be too long.
func tempRoot() string {
	tmp := canonical(os.TempDir())
	if len(tmp)+len(longestSocket) > maxSocketPath {
		return plainRoot()
	}
	return tmp
}

// plainRoot returns the temp dir that has a short path and that every user of the system can enter.
func plainRoot() string { return canonical("/tmp") }

// canonical resolves symbolic links where it can, so that paths can be compared with those that the system reports.
func canonical(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

// sweep removes the directories that this user's dead processes have left, unless a server still runs in them. Linux
// ends the servers with the process. A directory that has been swept already is not found a second time.
func sweep() {
	for _, root := range []string{tempRoot(), plainRoot(), sharedMemory} {
		paths, _ := filepath.Glob(filepath.Join(root, dirPrefix+"*"))
		for _, path := range paths {
			sweepDir(path)
		}
	}
}

func sweepDir(path string) {
	if fi, err := os.Lstat(path); err != nil || !fi.IsDir() || !ownedByUs(fi) {
		return
	}
	d := &tempDir{path: path}
	var err error
	if d.lock, err = os.Open(d.file(lockFile)); err == nil && tryLock(d.lock) == nil {
		_ = d.remove()
	}
	d.lock.Close()
}

// tryLock takes the exclusive lock on f unless another open file holds it. The lock ends when all processes that have f
// have closed it or died. Only servers inherit it, because Go opens every file with O_CLOEXEC.
func tryLock(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != syscall.EINTR {
			return err
		}
	}
}

// ownedByUs reports whether the file belongs to the effective user of this process.
func ownedByUs(fi fs.FileInfo) bool { return int(fi.Sys().(*syscall.Stat_t).Uid) == os.Geteuid() }
