// Command recovery measures how long a lock stays taken after its holder has died. For each lock it starts a private
// server and a holder in a separate process, waits for the lock in this process, kills the holder with SIGKILL, and
// measures the time until the lock is granted. No lease is renewed, but libraries keep their sessions alive as usual.
//
//	go run ./scripts/recovery -driver rueidis,zookeeper,etcd,mysql,postgres -ttl 2s -n 5
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/drivers/exec"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/wait"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == exec.Argument {
		os.Exit(exec.Main())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// settings are the values of the flags.
type settings struct {
	drivers, locks []string
	ttl            time.Duration
	n              int
	durability     servers.Durability
	asJSON         bool
	timeout        time.Duration // after which a lock counts as never free; 0: three TTLs and five seconds
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("recovery", flag.ContinueOnError)
	flags.SetOutput(stderr)
	driverNames := flags.String("driver", "rueidis", "comma-separated drivers")
	locks := flags.String("lock", "", "comma-separated locks; all if empty")
	ttl := flags.Duration("ttl", 2*time.Second, "the lease, and the session timeout where a client chooses it")
	n := flags.Int("n", 5, "deaths of a holder, per lock")
	durability := flags.String("durability", string(servers.Relaxed), "disk durability of the servers: relaxed or strict")
	asJSON := flags.Bool("json", false, "print JSON, one line per lock")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	s := settings{
		drivers: list(*driverNames), locks: list(*locks), ttl: *ttl, n: *n,
		durability: servers.Durability(*durability), asJSON: *asJSON,
	}
	if err := s.run(ctx, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "recovery:", err)
		return 1
	}
	return 0
}

func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// row is the result of one lock.
type row struct {
	Driver     string          `json:"driver"`
	Lock       string          `json:"lock"`
	Wait       string          `json:"wait"` // of the next client that gets it
	Ends       string          `json:"ends"` // how a hold ends without a release: "expires", "session" or "never"
	TTL        time.Duration   `json:"ttl_ns"`
	Durability string          `json:"durability"`
	Server     string          `json:"server"`
	Deaths     int             `json:"deaths"`
	Never      int             `json:"never"`       // times that the lock was not granted within Timeout
	Timeout    time.Duration   `json:"patience_ns"` // from the death
	Times      []time.Duration `json:"times_ns"`    // from the death to the grant, in order, without the never granted
}

// cell is one lock to measure.
type cell struct {
	driver string
	design drivers.Design
}

// cells returns the locks of the chosen drivers. A lock that serves only one process cannot have a dead holder.
func (s settings) cells(stderr io.Writer) (cells []cell, err error) {
	found := map[string]bool{}
	for _, name := range s.drivers {
		d, err := drivers.Lookup(name)
		if err != nil {
			return nil, err
		}
		if _, ok := d.(drivers.Addressed); !ok {
			fmt.Fprintf(stderr, "recovery: skipped: %s has no server, and so no holder in another process\n", name)
			continue
		}
		for _, design := range d.Designs() {
			if len(s.locks) > 0 && !slices.Contains(s.locks, design.Name) {
				continue
			}
			found[design.Name] = true
			if !design.Traits.Exclusive {
				fmt.Fprintf(stderr, "recovery: skipped: %s %s does not exclude\n", name, design.Name)
				continue
			}
			cells = append(cells, cell{name, design})
		}
	}
	for _, lock := range s.locks {
		if !found[lock] {
			return nil, fmt.Errorf("-lock %s: no driver has it", lock)
		}
	}
	if cells == nil {
		return nil, errors.New("nothing is left to measure")
	}
	return cells, nil
}

func (s settings) run(ctx context.Context, stdout, stderr io.Writer) error {
	switch {
	case s.ttl < 10*time.Millisecond:
		return fmt.Errorf("-ttl %v: 10ms or more", s.ttl)
	case s.n < 1:
		return fmt.Errorf("-n %d: 1 or more", s.n)
	case s.durability != servers.Relaxed && s.durability != servers.Strict:
		return fmt.Errorf("-durability %s: relaxed or strict", s.durability)
	}
	if s.timeout == 0 {
		s.timeout = 3*s.ttl + 5*time.Second
	}
	cells, err := s.cells(stderr)
	if err != nil {
		return err
	}
	f := deployments{durability: s.durability, running: map[string]endpoint{}}
	defer f.close()
	var rows []row
	var failures []error
	for _, c := range cells {
		if ctx.Err() != nil {
			break
		}
		r, err := s.measure(ctx, c, &f)
		if err != nil { // measure the others anyway
			failures = append(failures, fmt.Errorf("%s %s: %w", c.driver, c.design.Name, err))
			continue
		}
		rows = append(rows, r)
		if s.asJSON {
			failures = append(failures, json.NewEncoder(stdout).Encode(r))
		}
	}
	if !s.asJSON && rows != nil {
		failures = append(failures, table(stdout, rows))
	}
	return errors.Join(append(failures, ctx.Err())...)
}

// measure kills n holders of one lock, each with its own key.
func (s settings) measure(ctx context.Context, c cell, f *deployments) (row, error) {
	r := row{
		Driver: c.driver, Lock: c.design.Name, Wait: wait.Backoff, Ends: ends(c.design.Traits), TTL: s.ttl,
		Durability: string(s.durability), Deaths: s.n, Timeout: s.timeout,
	}
	if c.design.Traits.Waits {
		r.Wait = wait.Native
	}
	where, err := f.at(ctx, c.driver)
	if err != nil {
		return r, err
	}
	w, err := newWaiter(ctx, c, where, s.ttl, r.Wait)
	if err != nil {
		return r, err
	}
	defer w.close()
	r.Server = w.server(ctx)
	for i := range s.n {
		took, granted, err := w.survive(ctx, assignment{
			Driver: c.driver, Lock: c.design.Name, Addrs: where.urls, TTL: s.ttl,
			// A dead holder's key may stay taken for ever, and drivers of the same service share a server.
			Key: fmt.Sprintf("recovery:%s:%s:%d", c.driver, c.design.Name, i),
		}, s.timeout)
		switch {
		case err != nil:
			return r, err
		case granted:
			r.Times = append(r.Times, took)
		default:
			r.Never++
		}
	}
	return r, nil
}

// ends returns how a hold ends without a release.
func ends(t drivers.Traits) string {
	switch {
	case t.Session:
		return "session"
	case t.Expires:
		return "expires"
	}
	return "never"
}

// table writes the rows as text.
func table(w io.Writer, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "driver\tlock\twait\thold ends\tttl\tdurability\tmedian\tmin\tmax\tnever\tserver")
	for _, r := range rows {
		median, low, high := "never", "never", "never"
		if len(r.Times) > 0 {
			times := slices.Sorted(slices.Values(r.Times))
			low, high = short(times[0]), short(times[len(times)-1])
			if at := (r.Deaths - 1) / 2; at < len(times) { // locks that were never granted count as the longest
				median = short(times[at])
			}
			if r.Never > 0 {
				high = "never"
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%v\t%s\t%s\t%s\t%s\t%d of %d\t%s\n",
			r.Driver, r.Lock, r.Wait, r.Ends, r.TTL, r.Durability, median, low, high, r.Never, r.Deaths, r.Server)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(rows) > 0 {
		_, err := fmt.Fprintf(w, "from the death of the holder to the next grant; never: not within %v\n", rows[0].Timeout)
		return err
	}
	return nil
}

// short returns a time rounded to a tenth of a millisecond.
func short(d time.Duration) string { return d.Round(100 * time.Microsecond).String() }
