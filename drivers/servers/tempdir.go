package servers

// Private directories, and how those of dead parents are found and removed.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	dirPrefix = "lockbench-server-" // digits follow
	newPrefix = "lockbench-new-"    // a directory whose lock is not held yet; the number of its process and digits follow
	lockFile  = "lock"
	pidFile   = "pid"

	// maxSocketPath is the capacity of the shortest sockaddr_un (darwin: 104 bytes, including the final NUL).
	maxSocketPath = 103
	// longestSocket is the longest path below the temp dir of a socket of this package's servers.
	longestSocket = "/" + dirPrefix + "4294967295/.s.PGSQL.5432"

	// killTimeout bounds the wait for a killed leftover process to be gone.
	killTimeout = 5 * time.Second
)

// tempDir is a directory of a living process, which holds the lock on a file in it as long as it lives: the kernel
// drops the lock when the process ends, for whatever reason.
type tempDir struct {
	path string
	lock *os.File
}

// newTempDir makes a private directory in root. It gets its final name only once its lock is held, so no sweep ever
// sees a half-made one.
func newTempDir(root string) (*tempDir, error) {
	path, err := os.MkdirTemp(root, fmt.Sprintf("%s%d-", newPrefix, os.Getpid())) // mode 0700
	if err != nil {
		return nil, fmt.Errorf("no directory for its files: %w; TMPDIR names the directory for temporary files, which has to exist and to be writable", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, lockFile), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	d := &tempDir{path: path, lock: lock}
	if _, err := tryLock(lock); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", lock.Name(), err), d.remove())
	}
	final := filepath.Join(root, dirPrefix+path[strings.LastIndexByte(path, '-')+1:])
	if err := os.Rename(path, final); err != nil {
		return nil, errors.Join(err, d.remove())
	}
	d.path = final
	return d, nil
}

// NewDir returns a private directory for something else than a server, and what removes it. After the death of this process a
// Sweep does.
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

// record writes down which process works in the directory, for a sweep after this process has died.
func (d *tempDir) record(pid int) error {
	stamp, err := stampOf(pid)
	if err != nil {
		return nil // it has exited already, or the system cannot tell: there is nothing that a sweep could kill
	}
	return os.WriteFile(d.file(pidFile), fmt.Appendf(nil, "%d %s\n", pid, stamp), 0o600)
}

func (d *tempDir) remove() error {
	_, err := removeDir(d.path)
	return errors.Join(err, d.lock.Close())
}

// removeDir deletes a directory, its lock file last, so that a later sweep finds what an interrupted removal left.
// Without its lock file any process may remove it, and removed reports whether the caller did.
func removeDir(path string) (removed bool, err error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if e.Name() == lockFile {
			continue
		}
		if err := os.RemoveAll(filepath.Join(path, e.Name())); err != nil {
			return false, err
		}
	}
	if err := os.Remove(filepath.Join(path, lockFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	switch err := os.Remove(path); {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	}
	return true, os.RemoveAll(path) // an ending process has put something there meanwhile
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

// roots returns the directories that may hold private directories. Root's servers may run as another user; see rootFor.
func roots() []string {
	list := append([]string{tempRoot()}, memoryRoots()...)
	if os.Geteuid() == 0 {
		list = append(list, plainRoot())
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// rootFor is tempRoot for a server of the account, which must be able to enter it: a private temp dir of root
// (pam_namespace, systemd, mktemp -d) is closed to others.
func rootFor(who *account) (string, error) {
	if fi, err := os.Stat(tempRoot()); err != nil || !fi.IsDir() {
		return tempRoot(), nil // newTempDir says what is wrong with it
	}
	for _, root := range []string{tempRoot(), plainRoot()} {
		if who.reaches(root) {
			return root, nil
		}
	}
	return "", fmt.Errorf("the server refuses to run as root, and its user can enter neither %s nor %s: "+
		"let TMPDIR name a directory that every user can pass through (chmod a+x), or run this as another user",
		tempRoot(), plainRoot())
}

// canonical resolves symbolic links where it can, so that paths can be compared with those that the system reports.
func canonical(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

// Sweep removes the private directories of this user's dead lockbench processes, after killing the servers that still
// run in them, and returns the removed directories. It is safe at any time, even if several processes sweep and start
// servers at once. The error joins everything that could not be removed.
func Sweep() (removed []string, err error) {
	for _, root := range roots() {
		gone, failed := sweep(root)
		removed, err = append(removed, gone...), errors.Join(err, failed)
	}
	return removed, err
}

func sweep(root string) (removed []string, err error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("servers: sweep: %w", err)
	}
	var errs []error
	for _, e := range entries {
		path := filepath.Join(root, e.Name())
		digits, ok := strings.CutPrefix(e.Name(), dirPrefix)
		clear := sweepDir
		if half, isNew := strings.CutPrefix(e.Name(), newPrefix); isNew && madeByTheDead(half) {
			digits, ok, clear = half[strings.IndexByte(half, '-')+1:], true, removeDir // there is nothing in it yet
		}
		if _, err := strconv.ParseUint(digits, 10, 64); !ok || err != nil || !e.IsDir() {
			continue
		}
		if fi, err := e.Info(); err != nil || !ownedByUs(fi) {
			continue // removed meanwhile, or another user's
		}
		gone, err := clear(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("servers: sweep: %w", err))
		}
		if gone {
			removed = append(removed, path)
		}
	}
	return removed, errors.Join(errs...)
}

// madeByTheDead reports whether the process that made a directory, whose name ends so, did not live to lock it.
func madeByTheDead(name string) bool {
	number, _, _ := strings.Cut(name, "-")
	pid, err := strconv.Atoi(number)
	if err != nil || pid <= 0 {
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// sweepDir removes one directory if its lock is free.
func sweepDir(path string) (removed bool, err error) {
	lock, err := os.Open(filepath.Join(path, lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		// Only a removal deletes the lock file, and does so last: what can be left is an empty directory.
		return os.Remove(path) == nil, nil
	}
	if err != nil {
		return false, err
	}
	defer lock.Close()
	if had, err := tryLock(lock); err != nil || !had {
		return false, err
	}
	if !stillAt(lock, filepath.Join(path, lockFile)) {
		return false, nil // another sweep was faster
	}
	if err := killLeftover(path); err != nil {
		return false, err
	}
	if err := tidyPostgres(filepath.Join(path, postgresData)); err != nil {
		return false, err
	}
	return removeDir(path)
}

// stillAt reports whether path still names the file f.
func stillAt(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(open, named)
}

// killLeftover kills the process recorded in the directory, and what is left of its group, as far as they still run there.
func killLeftover(path string) error {
	text, err := os.ReadFile(filepath.Join(path, pidFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	leader, stamp, ok := parseRecord(string(text))
	if !ok {
		return nil
	}
	if now, err := stampOf(leader); err == nil && now != stamp {
		return nil // the number is another's by now, and so is the group
	}
	if _, err := killOurs(leader, stamp, path); err != nil {
		return err
	}
	for again := true; again; { // they may have started others meanwhile
		again = false
		for _, pid := range members(leader) {
			stamp, err := stampOf(pid)
			if err != nil {
				continue // it has ended
			}
			killed, err := killOurs(pid, stamp, path)
			if err != nil {
				return err
			}
			again = again || killed
		}
	}
	return nil
}

// killOurs kills a process if it has the stamp and works in the directory, and returns when it is gone.
func killOurs(pid int, stamp, path string) (killed bool, err error) {
	// Take the handle before checking the stamp. Where handles are pidfds, the killed process is then the one that was
	// checked, even if its number is reused at this moment.
	p, err := os.FindProcess(pid)
	if err != nil {
		return false, nil
	}
	defer p.Release()
	if !ours(pid, stamp, path) {
		return false, nil
	}
	if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return false, fmt.Errorf("kill what is left in %s: %w", path, err)
	}
	// A process that is ending has no working directory any more before it is gone: only the stamp tells.
	for deadline := time.Now().Add(killTimeout); lives(pid, stamp); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return false, fmt.Errorf("what is left in %s (process %d) does not die", path, pid)
		}
	}
	return true, nil
}

// lives reports whether the process with that number has the stamp.
func lives(pid int, stamp string) bool {
	now, err := stampOf(pid)
	return err == nil && now == stamp
}

// parseRecord parses what tempDir.record wrote. Process numbers that stand for process groups (0, -1) or for init are
// rejected.
func parseRecord(text string) (pid int, stamp string, ok bool) {
	number, stamp, ok := strings.Cut(strings.TrimSuffix(text, "\n"), " ")
	pid, err := strconv.Atoi(number)
	if !ok || err != nil || pid <= 1 || stamp == "" {
		return 0, "", false
	}
	return pid, stamp, true
}
