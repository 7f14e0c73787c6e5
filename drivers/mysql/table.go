// The table of a run: made by the first service that opens with its prefix, and dropped when that one closes.
package mysql

import (
	"context"
	"fmt"
)

const errTableExists = 1050

// tableMark is the comment on every table that this driver has made. Without it a table is somebody else's.
const tableMark = "locks of a lockbench run, to be dropped after it"

// createTable makes the table, or uses the one that another service with the same prefix has made, which then drops it. One
// of that name without the mark is somebody else's and is left alone.
func (s *service) createTable(ctx context.Context, name string) error {
	return s.controlled(ctx, "create the table "+name, func(c *conn) error {
		err := create(ctx, c, name, s.columns)
		if numberOf(err) == errTableExists {
			row, asking := c.row(ctx, "SELECT table_comment FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?",
				[]byte(name))
			if asking != nil {
				return asking
			}
			if len(row) == 0 || row[0] != tableMark {
				return err
			}
			s.table = name
			return nil
		}
		if err == nil {
			s.table, s.made = name, true
		}
		return err
	})
}

func create(ctx context.Context, c *conn, name, columns string) error {
	_, _, err := c.exec(ctx, fmt.Sprintf("CREATE TABLE `%s` (%s) ENGINE=InnoDB COMMENT='%s'", name, columns, tableMark))
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
