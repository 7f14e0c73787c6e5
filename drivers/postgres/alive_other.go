//go:build !unix

package postgres

import "net"

type peeker struct{}

func newPeeker(net.Conn) (*peeker, error) { return nil, nil }

// alive returns true: a broken connection shows when it is used.
func (c *conn) alive() bool { return true }
