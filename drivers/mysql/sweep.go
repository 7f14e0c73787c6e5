// Finding and dropping the tables that a run has left, by its prefix.
package mysql

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lockbench/lockbench/drivers"
)

// Sweep implements drivers.Sweeper. A run can only leave tables in the database of the address: the other locks end
// with their connections.
func (d driver) Sweep(ctx context.Context, cfg drivers.Config, dry bool) (names []string, err error) {
	if cfg.Prefix == "" {
		return nil, fail("sweep", drivers.ErrNoPrefix)
	}
	cfg.Lock, cfg.Clients, cfg.Conns, cfg.Topology = getLock.Name, 1, 0, "" // getLock has no table
	s, err := d.open(ctx, cfg)
	if err != nil {
		return nil, prefixed("mysql: ", err)
	}
	defer s.Close()
	if s.target.database == "" {
		return nil, fail("sweep", errors.New("there is no database: name the one of the run, mysql://host/database"))
	}
	err = s.controlled(ctx, "sweep", func(c *conn) error {
		rows, err := c.rowsWithin(ctx, 0, "SELECT table_name, table_comment FROM information_schema.tables "+
			"WHERE table_schema = DATABASE() AND LEFT(table_comment, ?) = ? ORDER BY table_name",
			int64(len(tableMark)), []byte(tableMark))
		if err != nil {
			return err
		}
		for _, row := range rows {
			comment, _ := row[1].(string)
			if !strings.HasPrefix(comment, tableComment(cfg.Prefix)) {
				continue
			}
			name := fmt.Sprint(row[0])
			names = append(names, name)
			if dry {
				continue
			}
			if err := c.drop(ctx, name); err != nil {
				return err
			}
		}
		return nil
	})
	return names, err
}
