//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package servers

import (
	"os"
	"path/filepath"
	"syscall"
)

// apply makes a child run under the account. The child still dies with its parent, because the credentials are changed
// before Pdeathsig is set; setpriv or su would lose it.
func (a *account) apply(attr *syscall.SysProcAttr) {
	attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
}

// reaches reports whether the account can enter a directory, by the mode bits of the directory and all above it.
// Children of the account have no supplementary groups.
func (a *account) reaches(dir string) bool {
	if a == nil {
		return true
	}
	for {
		fi, err := os.Stat(dir)
		if err != nil {
			return false
		}
		bit := os.FileMode(0o001)
		if st, ok := fi.Sys().(*syscall.Stat_t); ok && int(st.Uid) == a.uid {
			bit = 0o100
		} else if ok && int(st.Gid) == a.gid {
			bit = 0o010
		}
		if fi.Mode()&bit == 0 {
			return false
		}
		above := filepath.Dir(dir)
		if above == dir {
			return true
		}
		dir = above
	}
}
