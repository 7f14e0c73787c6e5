//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package servers

import "syscall"

// apply lets a child run under the account. It keeps the death of the parent as the child's own, because the credentials
// are changed before that is asked for; setpriv or su in between would lose it.
func (a *account) apply(attr *syscall.SysProcAttr) {
	attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
}
