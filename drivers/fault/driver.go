package fault

// The same faults for drivers without a network, such as memory.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/lockbench/lockbench/drivers"
)

// Driver wraps a driver whose services then obey Outage, Mute and Stall as if they were reached over a network. That applies
// to Try, Release, Listen and Probe; other capabilities are found through Unwrap and work as usual.
type Driver struct {
	drivers.Driver

	mu        sync.Mutex
	down      bool
	mute      bool
	stalled   chan struct{} // nil unless replies are held back
	listeners map[*listener]struct{}
}

// NewDriver wraps d.
func NewDriver(d drivers.Driver) *Driver {
	return &Driver{Driver: d, listeners: map[*listener]struct{}{}}
}

// Outage makes every request fail before it reaches the lock, and drops wake-ups, until restore is called.
func (d *Driver) Outage() (restore func()) {
	d.set(func() { d.down = true })
	return func() {
		d.set(func() { d.down = false })
		for _, l := range d.open() {
			l.wake("")
		}
	}
}

// Mute lets requests take effect and drops their replies, until restore is called.
func (d *Driver) Mute() (restore func()) {
	d.set(func() { d.mute = true })
	return func() { d.set(func() { d.mute = false }) }
}

// Stall holds replies back until restore is called.
func (d *Driver) Stall() (restore func()) {
	stalled := make(chan struct{})
	d.set(func() { d.stalled = stalled })
	return func() {
		d.set(func() { d.stalled = nil })
		close(stalled)
	}
}

func (d *Driver) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *Driver) state() (down, mute bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.down, d.mute
}

func (d *Driver) open() []*listener {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.listeners))
}

// Open opens the wrapped driver's service.
func (d *Driver) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	if down, _ := d.state(); down {
		return nil, refused("fault: open")
	}
	s, err := d.Driver.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	faulty := &service{s, d}
	if p, ok := drivers.As[drivers.Prober](s); ok {
		return probed{faulty, p}, nil
	}
	return faulty, nil
}

func refused(op string) error {
	return &drivers.Error{Class: drivers.ClassConnect, Op: op, Err: errors.New("outage")}
}

type service struct {
	drivers.Service
	driver *Driver
}

func (s *service) Unwrap() drivers.Service { return s.Service }

func (s *service) Session(ctx context.Context, id int) (drivers.Session, error) {
	inner, err := s.Service.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	return &session{inner, s.driver}, nil
}

// Listen opens a listener of the wrapped service that hears nothing during an outage.
func (s *service) Listen(ctx context.Context, wake func(string)) (drivers.Listener, error) {
	inner, ok := drivers.As[drivers.Subscriber](s.Service)
	if !ok {
		return nil, fmt.Errorf("fault: listen: %w", errors.ErrUnsupported)
	}
	if down, _ := s.driver.state(); down {
		return nil, refused("fault: listen")
	}
	opened, err := inner.Listen(ctx, func(key string) {
		if down, _ := s.driver.state(); !down {
			wake(key)
		}
	})
	if err != nil {
		return nil, err
	}
	l := &listener{opened, s.driver, wake}
	s.driver.set(func() { s.driver.listeners[l] = struct{}{} })
	return l, nil
}

type listener struct {
	drivers.Listener
	driver *Driver
	wake   func(string)
}

func (l *listener) Close() error {
	l.driver.set(func() { delete(l.driver.listeners, l) })
	return l.Listener.Close()
}

type session struct {
	drivers.Session
	driver *Driver
}

func (s *session) Unwrap() drivers.Session { return s.Session }

func (s *session) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	return s.driver.through("fault: try", func() (bool, error) { return s.Session.Try(ctx, l) })
}

func (s *session) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	return s.driver.through("fault: release", func() (bool, error) { return s.Session.Release(ctx, l) })
}

// probed is a service whose probes obey the faults as well.
type probed struct {
	*service
	prober drivers.Prober
}

// Probe implements drivers.Prober.
func (s probed) Probe(ctx context.Context) error {
	_, err := s.driver.through("fault: probe", func() (bool, error) { return false, s.prober.Probe(ctx) })
	return err
}

// through sends one request over the imaginary network.
func (d *Driver) through(op string, request func() (bool, error)) (bool, error) {
	down, mute := d.state()
	if down {
		return false, refused(op)
	}
	answer, err := request()
	d.mu.Lock()
	stalled := d.stalled
	d.mu.Unlock()
	if stalled != nil {
		<-stalled
	}
	if mute {
		return false, &drivers.Error{Class: drivers.ClassClosed, Op: op, Err: io.ErrUnexpectedEOF}
	}
	return answer, err
}
