//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package spawn

import "syscall"

func tie(attr *syscall.SysProcAttr, leads bool) { attr.Setpgid = leads }
