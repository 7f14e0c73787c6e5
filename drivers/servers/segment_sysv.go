//go:build linux || (darwin && !ios)

package servers

// System V shared memory, which outlives the processes that made it.

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// segment is one piece of shared memory.
type segment struct{ id int }

// users returns the number of processes that have the segment mapped. The error is fs.ErrNotExist if it is gone or does
// not belong to the user uid.
func (s segment) users(uid uint32) (int, error) {
	var desc unix.SysvShmDesc
	_, err := unix.SysvShmCtl(s.id, unix.IPC_STAT, &desc)
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EIDRM), err == nil && desc.Perm.Cuid != uid:
		return 0, fs.ErrNotExist
	case err != nil:
		return 0, err
	}
	return int(desc.Nattch), nil
}

func (s segment) remove() error {
	_, err := unix.SysvShmCtl(s.id, unix.IPC_RMID, nil)
	return err
}
