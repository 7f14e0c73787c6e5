//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package servers

// Systems without flock: servers can be started and stopped, but those of a killed parent stay, because nothing tells
// for certain that they are stale.

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

func family(pid int) []int { return []int{pid} }

func members(int) []int { return nil }

func stampOf(int) (string, error) { return "", errors.ErrUnsupported }

func ours(int, string, string) bool { return false }

func tryLock(*os.File) (bool, error) { return false, nil }

func ownedByUs(fs.FileInfo) bool { return false }

func uidOf(fs.FileInfo) uint32 { return 0 }

func (a *account) apply(*syscall.SysProcAttr) {} // there is no root

func (a *account) reaches(string) bool { return true }
