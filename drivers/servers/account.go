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

// postgresAccounts are the users of servers that refuse to run as root, the first that exists.
var postgresAccounts = []string{"postgres", "_postgres", "nobody"}

// unprivileged returns the account for a server that refuses to run as root. It is nil if this process is not root.
func unprivileged() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range postgresAccounts {
		if u, err := user.Lookup(name); err == nil {
			uid, noUID := strconv.Atoi(u.Uid)
			gid, noGID := strconv.Atoi(u.Gid)
			if noUID == nil && noGID == nil && uid != 0 {
				return &account{uid, gid}, nil
			}
		}
	}
	return nil, fmt.Errorf("the server refuses to run as root, and there is no user %s: "+
		"make one, or run this as another user", strings.Join(postgresAccounts, " or "))
}

// attr returns the attributes of a child that runs under this account. It still dies with its parent, because the
// credentials are changed before Pdeathsig is set; setpriv or su would lose it.
func (a *account) attr() *syscall.SysProcAttr {
	if a == nil {
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}}
}

// own makes the account the owner of a file or directory.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}
