//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package servers

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// An account needs permission for a directory and for all above it.
func TestAccountReaches(t *testing.T) {
	plain := plainRoot()
	if fi, err := os.Stat(plain); err != nil || fi.Mode()&0o001 == 0 {
		t.Skip("this system has no temp dir for all users")
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
	const other = 1<<31 - 7
	group := int(fi.Sys().(*syscall.Stat_t).Gid)
	for _, tt := range []struct {
		above, mode os.FileMode
		who         *account
		want        bool
	}{
		{0o700, 0o700, nil, true},
		{0o700, 0o700, &account{os.Geteuid(), other}, true},
		{0o700, 0o700, &account{other, other}, false},
		{0o700, 0o711, &account{other, other}, false},
		{0o711, 0o700, &account{other, other}, false},
		{0o711, 0o711, &account{other, other}, true},
		{0o710, 0o710, &account{other, group}, true},
		{0o701, 0o701, &account{other, group}, false}, // a group's bits hold for its members, whatever the others may do
	} {
		if err := errors.Join(os.Chmod(top, tt.above), os.Chmod(dir, tt.mode)); err != nil {
			t.Fatal(err)
		}
		if got := tt.who.reaches(dir); got != tt.want {
			t.Errorf("%v below %v, %+v: %v", tt.mode, tt.above, tt.who, got)
		}
	}
	if (&account{other, other}).reaches(filepath.Join(dir, "nothing")) {
		t.Error("a missing directory is reachable")
	}
}
