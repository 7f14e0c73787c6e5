// Command filelock is a lockbench with one driver more, as an example to copy: a lock that is a file. Such a program has
// every command, flag, format and comparison of lockbench:
//
//	go run ./cmd/filelock -driver file,memory,rueidis -clients 8 -keys 4 -hold 1ms
//
// Package drivers documents what each method must return, and the optional interfaces of a driver: waiting, fencing,
// renewal, cleaning up. A lock on a server needs two methods besides, Service and ReadAddr: the example of package drivers
// is such a lock. [drivers/servers.Register] describes a server that lockbench is to find and start.
package main

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"

	"github.com/lockbench/lockbench/cmd/cli"
	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/all" // to compare with
)

func main() {
	drivers.Register("file", driver{})
	cli.Main()
}

var traits = drivers.Traits{Exclusive: true} // what it promises

type driver struct{}

func (driver) Designs() []drivers.Design {
	return []drivers.Design{{
		Name: "create", Traits: traits, Models: "O_EXCL", Wrong: "stays when its holder dies",
		Loses: []drivers.Hazard{drivers.HazardHolderDies, drivers.HazardUnlockAfterRefusal},
	}}
}

func (d driver) Open(_ context.Context, cfg drivers.Config) (drivers.Service, error) {
	if _, err := drivers.FindDesign(d, cfg.Lock); err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(os.TempDir())
	return service{dir}, err
}

type service struct{ *os.Root } // where a lock is a file

func (s service) Traits() drivers.Traits                                { return traits }
func (s service) Session(context.Context, int) (drivers.Session, error) { return session{s.Root}, nil }

type session struct{ dir *os.Root } // a client

func (s session) Try(ctx context.Context, l *drivers.Lease) (held bool, err error) {
	if l.Reset(); ctx.Err() != nil {
		return false, ctx.Err()
	}
	f, err := s.dir.OpenFile(url.PathEscape(l.Key), os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil // taken, which is not an error
	}
	f.Close()
	return err == nil, err
}

func (s session) Release(ctx context.Context, l *drivers.Lease) (removed bool, err error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err = s.dir.Remove(url.PathEscape(l.Key)); errors.Is(err, fs.ErrNotExist) {
		return false, nil // not locked
	}
	return err == nil, err
}
