package servers

// The users that servers run as. Some servers refuse to run as root.

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// account is a user of this system. The nil account is the user of this process.
type account struct{ uid, gid int }

// unprivileged returns the account for a server that refuses to run as root: nil if this process is not root, otherwise
// the first existing user of these names.
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

// attr returns the attributes of a child that runs under this account.
func (a *account) attr() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{}
	if a != nil {
		a.apply(attr)
	}
	return attr
}

// own makes the account the owner of a file or directory.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}
