package servers

// The users that servers run as. Some refuse to be root's.

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// account is a user of this system. The nil account is the one that this process runs as.
type account struct{ uid, gid int }

// unprivileged returns who runs a server that refuses root: nil if we are not root, else the first of the users by these
// names that there is.
func unprivileged(names ...string) (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		if err != nil || uid == 0 {
			continue
		}
		if gid, err := strconv.Atoi(u.Gid); err == nil {
			return &account{uid, gid}, nil
		}
	}
	return nil, fmt.Errorf("the server refuses to run as root, and there is no user %s: "+
		"make one, or run this as another user", strings.Join(names, " or "))
}

// attr returns what a child is started with, under this account.
func (a *account) attr() *syscall.SysProcAttr {
	attr := childAttr()
	if a != nil {
		a.apply(attr)
	}
	return attr
}

// own gives a file or directory to the account.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}
