package exec

// The driver of adapters: programs that take the other side of the protocol.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/quorum"
)

func init() { drivers.RegisterFamily("exec", find) }

// find starts an adapter to ask it who it is.
func find(command string) (drivers.Driver, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	c, err := startAdapter(command, nil, 0)
	if err != nil {
		return nil, err
	}
	h, err := c.hello(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w%s", err, c.said(err)), c.kill())
	}
	d := adapter{command, h}
	switch err := c.Close(); {
	case err != nil:
		return nil, err
	case len(h.Designs) == 0:
		return nil, fmt.Errorf("%s: hello: it has no designs", c.conn.Who)
	case h.Service == "":
		return &d, nil
	}
	var known []string
	for _, name := range drivers.Names() {
		on, _ := drivers.Lookup(name)
		own, ok := on.(drivers.Addressed)
		if _, same := on.(*addressed); !ok || same || drivers.LibraryOf(on).Locks {
			continue
		}
		if known = append(known, own.Service()); own.Service() == h.Service {
			return &addressed{d, own, name}, nil
		}
	}
	return nil, fmt.Errorf("%s: hello: unknown service %q; there are %s", c.conn.Who, h.Service, strings.Join(known, ", "))
}

// startAdapter starts an adapter, by the shell, since its command may have arguments.
func startAdapter(command string, secrets []string, limit time.Duration) (*child, error) {
	c, who := &child{}, fmt.Sprintf("adapter %q", command)
	if err := c.launch(launching{who: who, argv: []string{"sh", "-c", command}, secrets: secrets, limit: limit, tell: true}); err != nil {
		return nil, fmt.Errorf("%s: start: %w", who, err)
	}
	return c, nil
}

// adapter is a driver in another process, which says what it can.
type adapter struct {
	command string
	*hello
}

// Designs implements drivers.Driver.
func (a *adapter) Designs() (list []drivers.Design) {
	for _, d := range a.hello.Designs {
		list = append(list, drivers.Design{Name: d.Name, Traits: through(d.Traits.Traits), Models: d.Models, Wrong: d.Wrong, Loses: d.Loses})
	}
	return list
}

// Params implements drivers.Parametrised. The adapter checks the values.
func (a *adapter) Params() (list []drivers.Param) {
	for _, p := range a.hello.Params {
		list = append(list, drivers.Param{Name: p.Name, Default: p.Default, Text: p.Text, Check: func(string) error { return nil }})
	}
	return list
}

// Library implements drivers.Described.
func (a *adapter) Library() drivers.Library {
	return drivers.Library{Module: a.hello.Library.Name, Version: a.hello.Library.Version, Locks: true, Topologies: a.Topologies}
}

// Open implements drivers.Driver. There is a process for each of the Config's Lockers.
func (a *adapter) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	s, err := a.open(ctx, cfg, secretsOf("", cfg))
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (a *adapter) check(cfg drivers.Config) error {
	if _, _, err := drivers.Chosen(a, cfg); err != nil {
		return fmt.Errorf("adapter %q: open: %w", a.command, err)
	}
	return nil
}

func (a *adapter) open(ctx context.Context, cfg drivers.Config, secrets []string) (*service, error) {
	if err := a.check(cfg); err != nil {
		return nil, err
	}
	cfg.Wakes, cfg.Blocks = false, false
	s := &service{}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	for range max(1, cfg.Lockers) {
		c, err := startAdapter(a.command, secrets, cfg.IO())
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.processes = append(s.processes, c)
		if _, err = c.hello(ctx); err == nil {
			s.can, err = c.conn.open(ctx, "", cfg)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%w%s", err, c.said(err)), c.kill())
		}
	}
	s.can.Traits = through(s.can.Traits)
	return s, nil
}

// service is the processes of an adapter.
type service struct {
	processes []*child
	can       claims
}

// Traits implements drivers.Service.
func (s *service) Traits() drivers.Traits { return s.can.Traits }

// Session implements drivers.Service.
func (s *service) Session(ctx context.Context, id int) (drivers.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return s.processes[id%len(s.processes)].conn.session(ctx, s.can)
}

// Close implements drivers.Service.
func (s *service) Close() error {
	var errs []error
	for _, c := range s.processes {
		errs = append(errs, c.Close())
	}
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
	own.Wakes, own.Blocks, own.Passes, own.Renews = false, false, false, false
	beside, err := d.Open(ctx, own)
	if err != nil {
		return nil, err
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
		return &cleaning{all, c}, nil
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

// Close implements drivers.Service.
func (s *serving) Close() error { return errors.Join(s.service.Close(), s.beside.Close()) }
