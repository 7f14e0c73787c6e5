package exec

// The driver of adapters: programs that take the other side of the protocol.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/quorum"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/spawn"
)

// family begins the name of a driver that is a command.
const family = "exec"

func init() {
	var names []string
	for _, s := range Shipped {
		names = append(names, s.Name)
	}
	drivers.RegisterFamily(family, drivers.Family{Start: find, Known: known}, names...)
}

// find starts an adapter to ask it who it is.
func find(name string) (drivers.Driver, error) {
	c, err := startAdapter(name, nil, 0, true)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit(name))
	defer cancel()
	h, err := c.hello(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w%s", err, c.said(err)), c.kill())
	}
	d := adapter{name, h}
	switch err := c.Close(); {
	case err != nil:
		return nil, err
	case len(h.Designs) == 0:
		return nil, fmt.Errorf("%s: hello: it has no designs", c.conn.Who())
	case d.unknownHazard() != "":
		return nil, fmt.Errorf("%s: hello: loses: unknown hazard %q (lockbench prove -dry-run)", c.conn.Who(), d.unknownHazard())
	case h.Service == "":
		return &d, nil
	}
	if found := d.on(h.Service); found != nil {
		return found, nil
	}
	var services []string
	for _, s := range servers.Services() {
		services = append(services, s.Name)
	}
	return nil, fmt.Errorf("%s: hello: unknown service %q; there are %s", c.conn.Who(), h.Service, strings.Join(services, ", "))
}

// known returns an adapter that is not started: of one that is shipped, its service is known.
func known(name string) drivers.Driver {
	d := adapter{name, &hello{}}
	for _, a := range Shipped {
		if a.Name == name {
			if on := d.on(a.Service); on != nil {
				return on
			}
		}
	}
	return &d
}

// on returns the adapter with a driver of its service beside it; nil if there is none.
func (a adapter) on(service string) drivers.Driver {
	for _, name := range drivers.Names() {
		d, _ := drivers.Lookup(name)
		if own, ok := d.(drivers.Addressed); ok && !drivers.LibraryOf(d).Locks && own.Service() == service {
			return &addressed{a, own, name}
		}
	}
	return nil
}

// startLimit bounds the first start of an adapter: one that is not ours may never answer.
func startLimit(name string) time.Duration {
	if strings.HasPrefix(name, family+":") {
		return answerTimeout
	}
	return launchTimeout
}

// startAdapter starts an adapter: a command by the shell, since it may have arguments.
func startAdapter(name string, secrets []string, limit time.Duration, tell bool) (*child, error) {
	c, l := &child{}, launching{who: who(name), secrets: secrets, limit: limit, tell: tell}
	var err error
	if command, ok := strings.CutPrefix(name, family+":"); ok {
		l.argv = []string{"sh", "-c", command}
	} else if l.argv, err = prepare(name); err != nil {
		return nil, fmt.Errorf("%s: %w", l.who, err)
	}
	if err := c.launch(l); err != nil {
		return nil, fmt.Errorf("%s: start: %w", l.who, err)
	}
	return c, nil
}

// who begins errors about an adapter.
func who(name string) string { return fmt.Sprintf("adapter %q", strings.TrimPrefix(name, family+":")) }

// adapter is a driver in another process, which says what it can.
type adapter struct {
	name string
	*hello
}

// unknownHazard returns one that a design loses to, and that there is not; empty if there is none.
func (a *adapter) unknownHazard() drivers.Hazard {
	for _, d := range a.hello.Designs {
		for _, h := range d.Loses {
			if !slices.Contains(drivers.Hazards(), h) {
				return h
			}
		}
	}
	return ""
}

// Designs implements drivers.Driver.
func (a *adapter) Designs() (list []drivers.Design) {
	for _, d := range a.hello.Designs {
		if d.Wrong == "" && d.Traits.Exclusive {
			d.Wrong = "its adapter names no risk; lockbench prove finds what it loses"
			if len(d.Loses) > 0 {
				d.Wrong = "it loses to " + string(d.Loses[0]) + ", as its adapter admits; lockbench list has all hazards that it names"
			}
		}
		list = append(list, drivers.Design{Name: d.Name, Traits: through(d.Traits.Traits), Models: d.Models, Wrong: d.Wrong, Loses: d.Loses})
	}
	return list
}

// Params implements drivers.Parametrised. The adapter checks the values.
func (a *adapter) Params() (list []drivers.Param) {
	for _, p := range a.hello.Params {
		list = append(list, drivers.Param{Name: p.Name, Default: p.Default, Text: p.Text, Check: func(string) error { return nil }})
	}
	if slices.ContainsFunc(a.hello.Designs, func(d design) bool { return d.Traits.Waits }) {
		list = append(list, drivers.AgainParam())
	}
	return list
}

// Library implements drivers.Described.
func (a *adapter) Library() drivers.Library {
	return drivers.Library{Module: a.hello.Library.Name, Version: a.hello.Library.Version, Locks: true, Outside: true, Topologies: a.Topologies}
}

// Open implements drivers.Driver. There is a process for each of the Config's Lockers, and one for each client of those
// that crash, unless the adapter says that its sessions can do that by themselves.
func (a *adapter) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	s, err := a.open(ctx, cfg, secretsOf("", cfg))
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (a *adapter) check(cfg drivers.Config) error {
	if _, _, err := drivers.Chosen(a, cfg); err != nil {
		return fmt.Errorf("%s: open: %w", who(a.name), err)
	}
	return nil
}

func (a *adapter) open(ctx context.Context, cfg drivers.Config, secrets []string) (*service, error) {
	if err := a.check(cfg); err != nil {
		return nil, err
	}
	n := max(1, cfg.Lockers)
	s := &service{adapter: a, secrets: secrets, silence: max(silenceTimeout, cfg.IO())}
	if own, _ := drivers.FindDesign(a, cfg.Lock); cfg.Crashes && !a.crashes(own.Name) {
		n, s.alone = max(1, cfg.Clients), true
	}
	cfg.Params = maps.Clone(cfg.Params)
	s.again = drivers.ParamValues(cfg.Params).On("again")
	delete(cfg.Params, "again")
	cfg.Wakes, cfg.Blocks, cfg.Passes, cfg.Clients = false, false, false, (max(1, cfg.Clients)+n-1)/n
	s.cfg, s.places = cfg, make([]place, n)
	var err error
	if s.can, err = s.start(ctx, 0, startLimit(a.name)); err != nil {
		return nil, err
	}
	s.can.Traits = through(s.can.Traits)
	errs, starting := make([]error, n), make(chan struct{}, runtime.GOMAXPROCS(0)) // an interpreter takes a core for a second
	var all sync.WaitGroup
	for i := range n - 1 {
		all.Go(func() {
			starting <- struct{}{}
			_, errs[i] = s.start(ctx, i+1, launchTimeout)
			<-starting
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (a *adapter) crashes(lock string) bool {
	return slices.ContainsFunc(a.hello.Designs, func(d design) bool { return d.Name == lock && d.Traits.Crashes })
}

// service is the processes of an adapter.
type service struct {
	adapter *adapter
	cfg     drivers.Config // of each process
	secrets []string
	can     claims
	alone   bool          // each client has a process
	again   bool          // see drivers.AgainParam
	silence time.Duration // that an adapter may keep while it is asked
	dying   sync.WaitGroup

	mu     sync.Mutex
	places []place
}

// place is what a process and its successors are in.
type place struct {
	process *child        // nil after a crash
	spent   time.Duration // by those before it
	silent  int           // how often Broken has found it silent, one after the other
}

// start starts the process in a place.
func (s *service) start(ctx context.Context, i int, limit time.Duration) (can claims, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := startAdapter(s.adapter.name, s.secrets, s.cfg.IO(), i == 0)
	if err != nil {
		return can, err
	}
	c.conn.again = s.again
	if _, err = c.hello(ctx); err == nil {
		can, err = c.conn.open(ctx, "", s.cfg)
	}
	if err != nil {
		return can, errors.Join(fmt.Errorf("%w%s", err, c.said(err)), c.kill())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places[i].process = c
	return can, nil
}

// Traits implements drivers.Service.
func (s *service) Traits() drivers.Traits { return s.can.Traits }

// Session implements drivers.Service.
func (s *service) Session(ctx context.Context, id int) (drivers.Session, error) {
	i := id % len(s.places)
	c := s.process(i)
	if c == nil {
		if _, err := s.start(ctx, i, launchTimeout); err != nil {
			return nil, err
		}
		c = s.process(i)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	session, err := c.conn.session(ctx, s.can)
	switch {
	case drivers.TimedOut(err):
		c.conn.Fail(err) // or the end of all others would be waited for as well
		return nil, err
	case err != nil || !s.alone:
		return session, err
	}
	return mortal{layer{session}, s, i}, nil
}

func (s *service) process(i int) *child {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.places[i].process
}

// mortal is a session in a process of its own.
type mortal struct {
	layer
	s  *service
	at int
}

// Crash implements drivers.Crasher.
func (m mortal) Crash() {
	m.s.mu.Lock()
	p := &m.s.places[m.at]
	c := p.process
	p.process = nil
	m.s.mu.Unlock()
	if c == nil {
		return
	}
	spent := c.cpu() // with what children of it have used, who die unwaited for
	if c.process.KillGroup() != nil {
		return
	}
	m.s.dying.Go(c.drain)
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	p.spent += max(spent, c.cpu())
}

// Broken implements drivers.Outside. A process is broken that twice was found to have been silent for so long: once it may
// be that this one was stopped.
func (s *service) Broken() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.places {
		p := &s.places[i]
		if p.process == nil {
			continue
		}
		c := p.process.conn
		if silence := c.Silence(); silence < s.silence {
			p.silent = 0
		} else if p.silent++; p.silent > 1 {
			c.Fail(&drivers.Error{Class: drivers.ClassTimeout, Op: c.Who(), Err: fmt.Errorf("it is asked, and has answered nothing for %v%s",
				silence.Round(time.Second), p.process.said(nil))})
		}
		if err := c.Err(); err != nil {
			return err
		}
	}
	return nil
}

// CPU implements drivers.Outside.
func (s *service) CPU() (list []time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.places {
		if p.process != nil {
			p.spent += p.process.cpu()
		}
		list = append(list, p.spent)
	}
	return list
}

// cpu returns the CPU time that a process has used; negative if it is not known.
func (c *child) cpu() time.Duration {
	if c.process.Gone() {
		return c.process.State().UserTime() + c.process.State().SystemTime()
	}
	return spawn.CPU(c.process.PID())
}

// Close implements drivers.Service.
func (s *service) Close() error {
	errs := make([]error, len(s.places))
	for i, p := range s.places {
		if p.process != nil {
			s.dying.Go(func() { errs[i] = p.process.Close() })
		}
	}
	s.dying.Wait()
	return errors.Join(errs...)
}

// addressed is an adapter for a service that another driver knows as well: that one cleans, pings and reads the server.
type addressed struct {
	adapter
	drivers.Addressed
	companion string
}

// Open implements drivers.Driver.
func (a *addressed) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	if err := a.check(cfg); err != nil {
		return nil, err
	}
	d, err := quorum.Lookup(a.companion, cfg.Topology)
	if err != nil {
		return nil, err
	}
	own := cfg
	own.Lock, own.Params, own.Lockers, own.Clients, own.Conns, own.Release = "", nil, 0, 1, 0, ""
	own.Wakes, own.Blocks, own.Passes, own.Renews, own.Crashes = false, false, false, false, false
	beside, err := d.Open(ctx, own)
	if err != nil {
		return nil, err
	}
	cfg.Addrs = slices.Clone(cfg.Addrs)
	for i, addr := range cfg.Addrs {
		if !strings.Contains(addr, "://") { // which goes without saying for the companion
			cfg.Addrs[i] = servers.Named(a.Service()).Schemes[0] + "://" + addr
		}
	}
	s, err := a.open(ctx, cfg, secretsOf(a.companion, cfg))
	if err != nil {
		return nil, errors.Join(err, beside.Close())
	}
	all := serving{service: s, beside: beside}
	all.Pinger, _ = drivers.As[drivers.Pinger](beside)
	all.Prober, _ = drivers.As[drivers.Prober](beside)
	all.Inspector, _ = drivers.As[drivers.Inspector](beside)
	if c, ok := drivers.As[drivers.Cleaner](beside); ok {
		return &cleaning{all, naming{c, cmp.Or(a.Keys, "*")}}, nil
	}
	return &all, nil
}

// serving is a service that a companion is beside. It has not what the companion knows of its own connections only.
type serving struct {
	*service
	drivers.Pinger
	drivers.Prober
	drivers.Inspector
	beside drivers.Service
}

type cleaning struct {
	serving
	drivers.Cleaner
}

// naming is a Cleaner of an adapter whose keys have names of their own on the server.
type naming struct {
	drivers.Cleaner
	as string
}

// Clean implements drivers.Cleaner.
func (n naming) Clean(ctx context.Context, keys []string) error {
	own := make([]string, len(keys))
	for i, key := range keys {
		own[i] = strings.ReplaceAll(n.as, "*", key)
	}
	return n.Cleaner.Clean(ctx, own)
}

// Close implements drivers.Service.
func (s *serving) Close() error { return errors.Join(s.service.Close(), s.beside.Close()) }
