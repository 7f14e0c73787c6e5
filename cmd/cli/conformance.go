// lockbench conformance: the suite that holds a driver to the contract, for authors of adapters.

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/workloads/target"
)

var conformanceFlags = []flagDef{
	{"driver", "", "What runs", "NAME", "", false, "the driver that is tested, as in 'exec:python3 example.py'"},
	{"lock", "", "What runs", "LIST", "", false, "its lock designs (default: all)"},
	{"addr", "", groupServer, "URL", "", false, "its server, if lockbench is not to start one"},
}

func (p *program) conform(ctx context.Context, o *options, _ []string) error {
	name := o.text("driver")
	if name == "" {
		return usageErrorf("conformance: of which driver? give -driver; lockbench list has all names")
	}
	d, err := drivers.Start(name)
	if err != nil {
		return o.complain(o.get("driver"), "%w", err)
	}
	locks := strings.Split(o.text("lock"), ",")
	if o.text("lock") == "" {
		locks = drivers.DesignNames(d)
	}
	for _, lock := range locks {
		if _, err := drivers.FindDesign(d, lock); err != nil {
			return o.complain(o.get("lock"), "%w", err)
		}
	}
	p.draining.Store(true)
	// A session's time-out is as short as a stalling machine allows: the suite waits for its end. etcd's default is a minute.
	cfg := drivers.Config{TTL: 5 * time.Second}
	if s := target.Service(name); s != nil {
		if cfg.Addrs = drivers.SplitAddrs(o.text("addr")); o.text("addr") == "" {
			path, err := s.Locate()
			if err != nil {
				return err
			}
			server, err := s.Start(ctx, servers.Options{Binary: path})
			if err != nil {
				return err
			}
			defer server.Close()
			cfg.Addrs = server.URLs
		}
		for _, addr := range cfg.Addrs {
			read, _ := target.ReadAddr(s, addr) // an error is Open's, too
			p.secrets.Add(string(read.Password))
		}
	}
	passed, failed := 0, 0
	for _, cfg.Lock = range locks {
		fmt.Fprintf(p.stdout, "%s %s\n", name, cfg.Lock)
		setup := drivertest.Setup{Driver: d, Config: cfg}
		left := drivertest.Each(ctx, setup, func(name string, failures []drivertest.Failure) {
			if len(failures) == 0 {
				passed++
				fmt.Fprintf(p.stdout, "  ok    %s\n", name)
				return
			}
			failed++
			for _, f := range failures {
				fmt.Fprintf(p.stdout, "  FAIL  %s: %s\n", name, format.Line(p.secrets.Scrub(f.Text)))
			}
		})
		if ctx.Err() != nil {
			p.say("%v; %v", context.Cause(ctx), cmp.Or(left, errors.New("the names of the case under way are deleted")))
			return exitCode(exitInterrupted)
		}
	}
	if failed > 0 {
		return fmt.Errorf("conformance: %d of %d cases fail", failed, passed+failed)
	}
	fmt.Fprintf(p.stdout, "all %d cases pass: it does what it claims. Whether that is safe: lockbench prove -driver %s\n",
		passed, quote(name))
	return nil
}
