package postgres

// Finding and dropping the tables that a run has left, by its prefix.

import (
	"context"
	"fmt"
	"strings"

	"github.com/lockbench/lockbench/drivers"
)

// Sweep implements drivers.Sweeper. A run can only leave tables of the database, on the search path: the other locks
// end with their connections.
func (d driver) Sweep(ctx context.Context, cfg drivers.Config, dry bool) (names []string, err error) {
	if cfg.Prefix == "" {
		return nil, fail("sweep", drivers.ErrNoPrefix)
	}
	cfg.Lock, cfg.Clients, cfg.Conns, cfg.Topology = advisoryDesign.Name, 1, 0, "" // advisory has no table
	opened, err := d.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	err = opened.(*service).use(ctx, func(c *conn) error {
		rows, err := c.query(ctx, "SELECT oid::regclass::text, obj_description(oid, 'pg_class') FROM pg_class "+
			"WHERE relkind = 'r' AND pg_table_is_visible(oid) AND left(obj_description(oid, 'pg_class'), $1::int) = $2 ORDER BY 1",
			fmt.Sprint(len(tableMark)), tableMark)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if len(row) != 2 || !strings.HasPrefix(row[1], tableComment(cfg.Prefix)) {
				continue
			}
			names = append(names, row[0]) // quoted where necessary
			if dry {
				continue
			}
			if _, err := c.query(ctx, "DROP TABLE IF EXISTS "+row[0]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return names, fail("sweep", cause(ctx, err))
	}
	return names, nil
}
