// Finding and deleting what a run has left, by its prefix.
package etcd

import (
	"context"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockbench/lockbench/drivers"
)

// sweepPage is the number of keys per answer.
const sweepPage = 1000

// Sweep implements drivers.Sweeper. All keys are bound to leases, so they also end by themselves.
func (d driver) Sweep(ctx context.Context, cfg drivers.Config, dry bool) ([]string, error) {
	if cfg.Prefix == "" {
		return nil, fail("sweep", drivers.ErrNoPrefix)
	}
	cfg.Lock, cfg.Clients, cfg.Conns = design.Name, 1, 1
	s, err := d.open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("etcd: sweep: %w", err)
	}
	defer s.Close()
	prefix := strings.TrimSuffix(line(cfg.Prefix), "/") // of the keys of all locks with these names
	names, err := s.list(ctx, prefix)
	if err == nil && len(names) > 0 && !dry {
		err = s.limited(ctx, func(ctx context.Context) error {
			_, err := s.conns[0].Delete(ctx, prefix, clientv3.WithPrefix())
			return err
		})
	}
	if err != nil {
		return names, fail("sweep", err)
	}
	return names, nil
}

// list returns the keys that begin with a prefix, in alphabetical order.
func (s *service) list(ctx context.Context, prefix string) (names []string, err error) {
	for from, more := prefix, true; more; {
		err = s.limited(ctx, func(ctx context.Context) error {
			page, err := s.conns[0].Get(ctx, from, clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix)),
				clientv3.WithKeysOnly(), clientv3.WithLimit(sweepPage))
			if err != nil {
				return err
			}
			for _, kv := range page.Kvs {
				names = append(names, string(kv.Key))
			}
			if more = page.More && len(page.Kvs) > 0; more {
				from = names[len(names)-1] + "\x00"
			}
			return nil
		})
		if err != nil {
			return names, err
		}
	}
	return names, nil
}

// limited bounds a request by the I/O time-out.
func (s *service) limited(ctx context.Context, request func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.io)
	defer cancel()
	return request(ctx)
}
