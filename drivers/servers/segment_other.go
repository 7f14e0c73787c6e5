//go:build !(linux || (darwin && !ios))

package servers

import "io/fs"

// segment is shared memory that cannot be inspected here: what a killed server leaves of it stays until the server or
// the system is started again.
type segment struct{ id int }

func (s segment) users(uint32) (int, error) { return 0, fs.ErrNotExist }

func (s segment) remove() error { return nil }
