package exec

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// useModules lets adapters find what make setup-all has installed.
func useModules() {
	dir, err := filepath.Abs(filepath.Join("adapters", "node_modules"))
	if err != nil {
		panic(err)
	}
	os.Setenv("NODE_PATH", dir+string(filepath.ListSeparator)+os.Getenv("NODE_PATH"))
}

// files end with the tests.
var files = servertest.Share(func(context.Context) (unpackedFiles, error) { return unpackedFiles{}, nil })

type unpackedFiles struct{}

func (unpackedFiles) Close() error { return RemoveFiles() }

// shippedDriver returns the driver of a shipped adapter. If something is missing, the test is skipped; with CI=true it fails.
func shippedDriver(t testing.TB, name string) drivers.Driver {
	t.Helper()
	files.Get(t)
	d, err := drivers.Start(name)
	if _, missing := errors.AsType[*Missing](err); missing && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestShippedConformance holds each library to what its adapter claims.
func TestShippedConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("libraries of other languages: make test-all")
	}
	servertest.QuickJava() // it starts several for each case
	var all sync.WaitGroup
	places := make(chan struct{}, 3) // mostly waiting, but interpreters take a core to start
	for _, a := range Shipped {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			t.Run(a.Name, func(t *testing.T) {
				d := shippedDriver(t, a.Name)
				cfg := drivers.Config{Lock: d.Designs()[0].Name}
				var both sync.WaitGroup
				both.Go(func() { t.Run("single", func(t *testing.T) { conform(t, d, cfg, 1) }) })
				if slices.Contains(drivers.LibraryOf(d).Topologies, drivers.TopologyRedlock) {
					majority := cfg
					majority.Topology = drivers.TopologyRedlock
					both.Go(func() { t.Run("five nodes", func(t *testing.T) { conform(t, d, majority, 5) }) })
				}
				both.Wait()
			})
		})
	}
	all.Wait()
}

// conform runs the suite on that many servers, behind proxies that break the connections.
func conform(t *testing.T, d drivers.Driver, cfg drivers.Config, nodes int) {
	s := drivertest.Setup{Driver: d, Straggles: nodes > 1}
	var urls []string
	for range nodes {
		var url string
		switch on, _ := d.(drivers.Addressed); {
		case on == nil:
			continue
		case on.Service() == "redis":
			url = servertest.Redis(t, servers.Options{}).URL()
			cfg.TTL, cfg.IOTimeout = 2*time.Second, time.Second
			s.SessionTimeout = cfg.TTL
			params := map[string]string{
				"retryCount":   "1",   // or a release that is refused takes two seconds
				"refreshShare": "0.2", // for machines that stall: the default leaves 0.4 s to renew a lock
			}
			maps.DeleteFunc(params, func(name, _ string) bool {
				return !slices.ContainsFunc(drivers.ParamsOf(d), func(p drivers.Param) bool { return p.Name == name })
			})
			cfg.Params = params
		default:
			url = servertest.ZooKeeper(t, 1, servers.Options{}).URLs()[0]
			cfg.TTL, cfg.IOTimeout = 6*time.Second, 5*time.Second // on machines that stall
			s.SessionTimeout = cfg.TTL + 400*time.Millisecond     // the server checks at intervals
			s.MemoryPerSession = 1 << 20                          // so that it makes few of them: each takes threads and a connection
		}
		urls = append(urls, url)
	}
	s.Config = cfg
	drivertest.Through(t, urls...).Run(t, s)
}

// TestShippedFiles: what adapters need is in a private folder as long as this process needs it, and only then.
func TestShippedFiles(t *testing.T) {
	dir, err := "", RemoveFiles()
	if err == nil {
		dir, err = unpack()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range Shipped {
		for _, file := range a.files {
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
				t.Errorf("%s: %v", a.Name, err)
			}
		}
	}
	if again, err := unpack(); again != dir || err != nil {
		t.Errorf("a second unpack returns %s, %v; want %s", again, err, dir)
	}
	if err := RemoveFiles(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after RemoveFiles: %v", err)
	}
}

// TestMissing: what cannot run here says what brings it.
func TestMissing(t *testing.T) {
	for _, tt := range []struct {
		adapter Adapter
		want    string
	}{
		{Adapter{Language: python, needs: []string{"no-such"}, install: "apt-get install python3-no-such"}, "it needs the module no-such: apt-get install python3-no-such"},
		{Adapter{Language: nodejs, needs: []string{"no-such"}}, "it needs the module no-such 0: npm install -g no-such@"},
		{Adapter{Language: java, needs: []string{"no-such"}, install: "apt-get install no-such-java"}, "it needs no-such.jar: apt-get install no-such-java"},
	} {
		if err := tt.adapter.Missing(); err == nil || err.Error() != tt.want {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}
