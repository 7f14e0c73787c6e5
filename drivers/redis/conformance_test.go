// Every design over every library, on every kind of server, against the contract.
package redis_test

import (
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// TestConformance runs every design on a real server. With -short the libraries take turns: a design has the same
// scripts over either.
func TestConformance(t *testing.T) {
	conformAll(t, 4, drivers.Config{}, cells, func(t *testing.T) string { return servertest.Redis(t, servers.RedisOptions{}).URL() })
}

// TestEmbeddedConformance mostly computes, in the embedded server, which runs in this process. TestConformance finds
// what there is to find in a driver, so with -short there is one cell.
func TestEmbeddedConformance(t *testing.T) {
	list := embeddedCells
	if testing.Short() {
		list = func(d drivers.Driver, library int) []cell { return designCells(d)[:library] }
	}
	conformAll(t, 3, drivers.Config{Embedded: true}, list, func(t *testing.T) string { return servertest.Embedded(t).URL() })
}

// conformAll runs the suite on cells of both libraries, each with a server of its own. Real servers mostly wait, so
// more can run at once than there are processors; t.Parallel would not do that.
func conformAll(t *testing.T, slots int, cfg drivers.Config, cells func(d drivers.Driver, library int) []cell, start func(t *testing.T) (url string)) {
	var all sync.WaitGroup
	free := make(chan struct{}, slots)
	for library, name := range []string{"go-redis", "rueidis"} {
		d, err := drivers.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, cell := range cells(d, library) {
			cfg := cfg
			cfg.Lock, cfg.Pipelining, cfg.Release, cfg.Polls = cell.Lock, cell.Pipelining, cell.Release, cell.Polls
			all.Go(func() {
				free <- struct{}{}
				defer func() { <-free }()
				t.Run(name+"/"+cell.name, func(t *testing.T) { conform(t, d, cfg, start(t)) })
			})
		}
	}
	all.Wait()
}

// cell is one way to open a service.
type cell struct {
	name string
	drivers.Config
}

// awake is a driver without the claim Blocks, which needs a single server and the release by script.
type awake struct{ drivers.Driver }

func (d awake) Designs() []drivers.Design {
	list := d.Driver.Designs()
	for i := range list {
		list[i].Traits.Blocks = false
	}
	return list
}

// cells returns every design with pipelining, and variants that the suite might distinguish: the default design without
// it, and the line of clients that poll. With -short it is every other design.
func cells(d drivers.Driver, library int) []cell {
	if testing.Short() {
		var list []cell
		for i, c := range designCells(d) {
			if i%2 == library {
				list = append(list, c)
			}
		}
		return list
	}
	return append(cellsWith(d), cell{"fair for clients that poll", drivers.Config{Lock: "fair", Polls: true}})
}

// embeddedCells has the release by a command, which the real server may lack. It leaves out the line of clients that poll:
// the server makes an interpreter for each of their many scripts.
func embeddedCells(d drivers.Driver, _ int) []cell {
	return append(cellsWith(d), cell{"set-nx by delex", drivers.Config{Lock: "set-nx", Release: drivers.ReleaseDelEx}})
}

func designCells(d drivers.Driver) (list []cell) {
	for _, design := range d.Designs() {
		list = append(list, cell{design.Name, drivers.Config{Lock: design.Name, Pipelining: drivers.PipeliningAuto}})
	}
	return list
}

func cellsWith(d drivers.Driver) []cell {
	return append(designCells(d),
		cell{"set-nx without pipelining", drivers.Config{Lock: "set-nx", Pipelining: drivers.PipeliningOff}},
	)
}

// conform runs the suite through a proxy that can break the connections.
func conform(t *testing.T, d drivers.Driver, cfg drivers.Config, url string) {
	cfg.IOTimeout = time.Second
	if cfg.Pipelining == drivers.PipeliningBatch {
		d = inBatches{d}
	}
	if cfg.Release != drivers.ReleaseDefault || cfg.Pipelining == drivers.PipeliningBatch {
		d = awake{d}
	}
	if cfg.Embedded {
		cfg.IOTimeout = 2 * time.Second // its scripts are slow under the race detector and on a busy machine
	}
	drivertest.Through(t, url).Run(t, drivertest.Setup{Driver: d, Config: cfg})
}
