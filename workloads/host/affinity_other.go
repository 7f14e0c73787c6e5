//go:build !linux

// Systems that do not let a program choose its cores, or not in this way.

package host

import (
	"errors"
	"runtime"
)

func Cores() ([]int, error) { return nil, errNoAffinity }

func Move(int, []int) error { return errNoAffinity }

func siblings(int) string { return "" }

var errNoAffinity = errors.New("lockbench can choose cores on Linux only, and this is " + runtime.GOOS)
