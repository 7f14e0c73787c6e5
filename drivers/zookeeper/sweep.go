// Finding and deleting what a run has left, by its prefix.
package zookeeper

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
)

// Sweep implements drivers.Sweeper. It looks below the chroot of the address. What a run leaves also vanishes by
// itself: its nodes with their sessions, and some time later the containers, which are empty then.
func (d driver) Sweep(ctx context.Context, cfg drivers.Config, dry bool) ([]string, error) {
	if cfg.Prefix == "" {
		return nil, opSweep.fail(drivers.ErrNoPrefix)
	}
	cfg.Lock, cfg.Clients, cfg.Conns = sequential.Name, 1, 0
	s, err := d.open(ctx, cfg)
	if err != nil {
		return nil, opSweep.fail(err)
	}
	defer s.Close()
	k := &caller{c: s.controlConn, counts: new(counts)}
	root := s.root()
	children, err := ask(ctx, k, 0, func(z *zk.Conn) ([]string, error) {
		children, _, err := z.Children(root)
		return children, err
	})
	if err != nil {
		return nil, opSweep.fail(err)
	}
	slices.Sort(children)
	var names []string
	for _, name := range children {
		if !strings.HasPrefix(name, url.PathEscape(cfg.Prefix)) {
			continue
		}
		node := strings.TrimSuffix(root, "/") + "/" + name
		names = append(names, node)
		if dry {
			continue
		}
		if err := cleanLine(ctx, k, node); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return names, opSweep.fail(err)
		}
	}
	return names, nil
}

// root returns the parent node of all nodes of locks.
func (s *service) root() string {
	if s.chroot != "" {
		return s.chroot
	}
	return "/"
}
