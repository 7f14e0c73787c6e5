package fault_test

import (
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/memory"
)

// TestDriver takes one lock through an outage and lost replies.
func TestDriver(t *testing.T) {
	ctx := t.Context()
	d := fault.NewDriver(memory.Driver{})
	svc, err := d.Open(ctx, drivers.Config{Wakes: true})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	s, err := svc.Session(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	heard := map[string]int{}
	sub, _ := drivers.As[drivers.Subscriber](svc)
	listener, err := sub.Listen(ctx, func(key string) { heard[key]++ })
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Add(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	expect := func(what string, answer bool, err error, want bool, class drivers.Class) {
		t.Helper()
		if answer != want || (err != nil) != (class != "") || err != nil && drivers.ClassOf(err) != class {
			t.Fatalf("%s answered %v, %v; want %v and class %q", what, answer, err, want, class)
		}
	}
	l := &drivers.Lease{Key: "k"}
	held, err := s.Try(ctx, l)
	expect("Try", held, err, true, "")

	restore := d.Outage()
	owned, err := s.Release(ctx, l)
	expect("Release in an outage", owned, err, false, drivers.ClassConnect)
	if _, err := d.Open(ctx, drivers.Config{}); !drivers.NoEffect(err) {
		t.Fatalf("Open in an outage says %v, want a refusal", err)
	}
	inner := s.(drivers.Unwrapper[drivers.Session]).Unwrap() // a client without the outage
	other := &drivers.Lease{Key: "k"}
	if owned, err := inner.Release(ctx, l); !owned || err != nil {
		t.Fatalf("Release by another client answered %v, %v", owned, err)
	}
	held, err = inner.Try(ctx, other)
	expect("Try by another client", held, err, true, "")
	restore()
	if heard[""] != 1 || heard["k"] != 0 {
		t.Fatalf("after an outage the listener has heard %v, want one call for lost messages", heard)
	}

	restore = d.Mute()
	owned, err = s.Release(ctx, other)
	expect("Release without a reply", owned, err, false, drivers.ClassClosed)
	restore()
	owned, err = s.Release(ctx, other)
	expect("Release of what was released unheard", owned, err, false, "")
	if heard["k"] != 1 {
		t.Fatalf("the listener has heard %v, want one release", heard)
	}

	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	d.Outage()()
	if heard[""] != 1 {
		t.Fatal("a closed listener was called after an outage")
	}
}

// TestDriverWithoutListeners wraps a driver without listeners.
func TestDriverWithoutListeners(t *testing.T) {
	svc, err := fault.NewDriver(memory.Null{}).Open(t.Context(), drivers.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	sub, ok := drivers.As[drivers.Subscriber](svc)
	if !ok {
		t.Fatal("the wrapper is no Subscriber")
	}
	if _, err := sub.Listen(t.Context(), func(string) {}); err == nil {
		t.Error("Listen works over a driver that has none")
	}
}

// TestDriverProbe checks that a probe suffers like other requests, if there is one.
func TestDriverProbe(t *testing.T) {
	open := func(d *fault.Driver) (drivers.Prober, bool) {
		t.Helper()
		svc, err := d.Open(t.Context(), drivers.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { svc.Close() })
		return drivers.As[drivers.Prober](svc)
	}
	if _, ok := open(fault.NewDriver(memory.Null{})); ok {
		t.Error("a service is a Prober that wraps one that is none")
	}
	d := fault.NewDriver(memory.Driver{})
	p, ok := open(d)
	if !ok {
		t.Fatal("no Prober")
	}
	for _, broken := range []struct {
		how   func() (restore func())
		class drivers.Class
	}{{d.Outage, drivers.ClassConnect}, {d.Mute, drivers.ClassClosed}} {
		restore := broken.how()
		if err := p.Probe(t.Context()); drivers.ClassOf(err) != broken.class {
			t.Errorf("Probe says %v; want class %q", err, broken.class)
		}
		restore()
		if err := p.Probe(t.Context()); err != nil {
			t.Errorf("Probe says %v when all is well again", err)
		}
	}
}
