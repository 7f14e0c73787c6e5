package servers

// A clock of a server's own, which can be wrong: libfaketime answers when the server asks the system for the time.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// faketimeLibraries are where distributions install libfaketime.
var faketimeLibraries = []string{
	"/usr/lib/*/faketime/libfaketime.so.1", // Debian, Ubuntu
	"/usr/lib64/faketime/libfaketime.so.1", // Fedora
	"/usr/lib/faketime/libfaketime.so.1",   // Arch
}

// clockFile holds the offset of a server's clock.
const clockFile = "clock"

// FindFaketime returns the path of the library that Options.Clock needs. The error wraps exec.ErrNotFound and says
// what to install.
func FindFaketime() (path string, err error) {
	for _, pattern := range faketimeLibraries {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0], nil
		}
	}
	return "", &MissingError{"a clock of its own", "libfaketime", "the package libfaketime (Linux only)"}
}

// ownClock returns the environment of a server in dir whose clock can be moved.
func ownClock(dir *tempDir) (env []string, err error) {
	library, err := FindFaketime()
	if err != nil {
		return nil, err
	}
	return []string{
		// The C library comes second: otherwise the memory allocator of Redis asks for the time before libfaketime has
		// found the real function, and the program does not start.
		"LD_PRELOAD=" + library + ":libc.so.6",
		"FAKETIME_TIMESTAMP_FILE=" + dir.file(clockFile),
		"FAKETIME_NO_CACHE=1", // read the file each time, not every ten seconds
		// The timers' clock stays right: a clock that is set back would stop them. Version 0.9.10 knows both names, older
		// ones only the second.
		"FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1",
	}, writeClock(dir, 0)
}

// writeClock writes an offset. The server never reads half of one, because the file is replaced.
func writeClock(dir *tempDir, offset time.Duration) error {
	next := dir.file(clockFile + ".new")
	text := fmt.Appendf(nil, "%+.6f\n", offset.Seconds())
	return errors.Join(os.WriteFile(next, text, 0o600), os.Rename(next, dir.file(clockFile)))
}

// SetClock sets the clock of a server that was started with Options.Clock to the present time plus offset, which may be
// negative. It returns when the server says so. The server's timers go on as before. A Restart keeps the offset.
func (r *Redis) SetClock(ctx context.Context, offset time.Duration) error {
	err := writeClock(r.dir, offset)
	before := time.Now()
	if err == nil {
		now, failed := r.time(ctx)
		const rounding = time.Millisecond
		late := now.Sub(before.Add(offset))
		if err = failed; err == nil && (late < -rounding || late > time.Since(before)+rounding) {
			err = fmt.Errorf("the clock is %v off, and %v was set: libfaketime has no effect", now.Sub(before), offset)
		}
	}
	return r.failed("set clock", err)
}

// time returns the time of the server's clock, by which keys expire.
func (r *Redis) time(ctx context.Context) (time.Time, error) {
	c := r.client(0)
	defer c.Close()
	return c.Time(ctx).Result()
}
