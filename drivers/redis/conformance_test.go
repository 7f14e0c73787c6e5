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

// TestConformance runs every design on a real server. The libraries take turns, because a design has the same scripts over
// either; each has what a library may do otherwise: set-nx with and without pipelining, and a line of clients.
func TestConformance(t *testing.T) {
	conformAll(t, drivers.Config{}, cells, func(t *testing.T) string { return servertest.Redis(t, servers.Options{}).URL() })
}

// TestEmbeddedConformance has the embedded server run the scripts of every design, over the library with which TestConformance
// does not. With -short there is one cell.
func TestEmbeddedConformance(t *testing.T) {
	conformAll(t, drivers.Config{Embedded: true}, embeddedCells, func(t *testing.T) string { return servertest.Embedded(t) })
}

// atOnce is how many cells run at the same time. They mostly wait, so more can run than there are processors; t.Parallel
// would not do that.
const atOnce = 6

// conformAll runs the suite on cells of both libraries, each with a server of its own.
func conformAll(t *testing.T, cfg drivers.Config, cells func(d drivers.Driver, library int) []cell, start func(t *testing.T) (url string)) {
	var all sync.WaitGroup
	free := make(chan struct{}, atOnce)
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

// cells returns every other design, and variants that the suite might distinguish.
func cells(d drivers.Driver, library int) []cell {
	list := inTurn(d, library)
	if !testing.Short() {
		auto := drivers.PipeliningAuto
		list = append(list,
			cell{"set-nx with pipelining", drivers.Config{Lock: "set-nx", Pipelining: auto}},
			cell{"set-nx without pipelining", drivers.Config{Lock: "set-nx", Pipelining: drivers.PipeliningOff}},
			cell{"fair for clients that wait", drivers.Config{Lock: "fair", Pipelining: auto}},
			cell{"fair for clients that poll", drivers.Config{Lock: "fair", Polls: true}})
	}
	return list
}

// embeddedCells has the release by a command, which the real server may lack.
func embeddedCells(d drivers.Driver, library int) []cell {
	if testing.Short() {
		return inTurn(d, 0)[:library]
	}
	return append(inTurn(d, 1-library), cell{"set-nx by delex", drivers.Config{Lock: "set-nx", Release: drivers.ReleaseDelEx}})
}

// inTurn returns every other design, with pipelining.
func inTurn(d drivers.Driver, turn int) (list []cell) {
	for i, design := range d.Designs() {
		if i%2 == turn {
			list = append(list, cell{design.Name, drivers.Config{Lock: design.Name, Pipelining: drivers.PipeliningAuto}})
		}
	}
	return list
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
	if cfg.Embedded { // what breaks is the library's, and its server need not be this one
		cfg.IOTimeout = 2 * time.Second // its scripts are slow under the race detector and on a busy machine
		cfg.Addrs = []string{url}
		drivertest.Run(t, drivertest.Setup{Driver: d, Config: cfg})
		return
	}
	drivertest.Through(t, url).Run(t, drivertest.Setup{Driver: d, Config: cfg})
}
