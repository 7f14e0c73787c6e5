//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package servers

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Only who can go through a directory and through all above it gets there.
func TestAccountReaches(t *testing.T) {
	plain := plainRoot()
	if fi, err := os.Stat(plain); err != nil || fi.Mode()&0o001 == 0 {
		t.Skip("this system has no temp dir for everybody")
	}
	top, err := os.MkdirTemp(plain, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	dir := filepath.Join(top, "below")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	const stranger = 1<<31 - 7
	group := int(fi.Sys().(*syscall.Stat_t).Gid)
	for _, tt := range []struct {
		above, mode os.FileMode
		who         *account
		want        bool
	}{
		{0o700, 0o700, nil, true},
		{0o700, 0o700, &account{os.Geteuid(), stranger}, true},
		{0o700, 0o700, &account{stranger, stranger}, false},
		{0o700, 0o711, &account{stranger, stranger}, false},
		{0o711, 0o700, &account{stranger, stranger}, false},
		{0o711, 0o711, &account{stranger, stranger}, true},
		{0o710, 0o710, &account{stranger, group}, true},
		{0o701, 0o701, &account{stranger, group}, false}, // a group's bits hold for its members, whatever the others may
	} {
		if err := errors.Join(os.Chmod(top, tt.above), os.Chmod(dir, tt.mode)); err != nil {
			t.Fatal(err)
		}
		if got := tt.who.reaches(dir); got != tt.want {
			t.Errorf("%v below %v, %+v: %v", tt.mode, tt.above, tt.who, got)
		}
	}
	if (&account{stranger, stranger}).reaches(filepath.Join(dir, "nothing")) {
		t.Error("nobody gets to what is not there")
	}
}
