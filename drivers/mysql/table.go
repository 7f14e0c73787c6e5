// The table of a run: made when the service opens, under a name that nobody has, and dropped when it closes.
package mysql

import (
	"context"
	"fmt"
)

const errTableExists = 1050

// createTable makes the table. One of that name that is there already is somebody else's and is left alone: there is
// no IF NOT EXISTS, and s.table, which is dropped in the end, is set only when the table is ours.
func (s *service) createTable(ctx context.Context, name string) error {
	err := s.controlled(ctx, "create the table "+name, func(c *conn) error { return create(ctx, c, name, s.columns) })
	if err == nil {
		s.table = name
	}
	return err
}

func create(ctx context.Context, c *conn, name, columns string) error {
	_, _, err := c.exec(ctx, fmt.Sprintf("CREATE TABLE `%s` (%s) ENGINE=InnoDB "+
		"COMMENT='locks of a lockbench run, to be dropped after it'", name, columns))
	return err
}

// restore makes the table again on a server that came back without it.
func (s *service) restore(ctx context.Context) error {
	return s.controlled(ctx, "create the table again", func(c *conn) error {
		if err := create(ctx, c, s.table, s.columns); numberOf(err) != errTableExists { // else another session was faster
			s.rows.Clear()
			return err
		}
		return nil
	})
}

func (s *service) dropTable(ctx context.Context) error {
	return s.controlled(ctx, "drop", func(c *conn) error {
		_, _, err := c.exec(ctx, "DROP TABLE IF EXISTS `"+s.table+"`")
		return err
	})
}
