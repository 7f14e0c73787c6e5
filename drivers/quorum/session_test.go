package quorum_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/quorum"
)

// in runs a test in fake time, which only passes as the nodes are told.
func in(t *testing.T, test func(t *testing.T)) { synctest.Test(t, test) }

// took runs f and returns how long it took.
func took(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func must(t *testing.T, what string, got bool, err error, want bool) {
	t.Helper()
	if err != nil || got != want {
		t.Fatalf("%s = %v, %v, want %v", what, got, err, want)
	}
}

func try(t *testing.T, s drivers.Session, l *drivers.Lease, want bool) {
	t.Helper()
	held, err := s.Try(t.Context(), l)
	must(t, "Try", held, err, want)
}

func release(t *testing.T, s drivers.Session, l *drivers.Lease, want bool) {
	t.Helper()
	owned, err := s.Release(t.Context(), l)
	must(t, "Release", owned, err, want)
}

// TestNodesGone checks how long an attempt takes when nodes are down, and its result.
func TestNodesGone(t *testing.T) {
	down := func(n *fake) { n.down = refused }
	hang := func(n *fake) { n.hangs = true }
	mute := func(n *fake) { n.mute = true }
	for _, test := range []struct {
		name  string
		set   func(f *fakes)
		want  string // "held", or the class of the error
		takes time.Duration
	}{
		{"none", func(*fakes) {}, "held", 0},
		{"1 dead", func(f *fakes) { f.each("a", down) }, "held", 0},
		{"2 dead", func(f *fakes) { f.each("be", down) }, "held", 0},
		{"3 dead", func(f *fakes) { f.each("abc", down) }, "connect", 0},
		{"5 dead", func(f *fakes) { f.each("abcde", down) }, "connect", 0},
		{"2 hung", func(f *fakes) { f.each("ab", hang) }, "held", 0},
		{"1 dead, 1 hung", func(f *fakes) { f.each("a", down); f.each("b", hang) }, "held", 0},
		{"3 hung", func(f *fakes) { f.each("abc", hang) }, "timeout", nodeTimeout},
		{"3 mute", func(f *fakes) { f.each("abc", mute) }, "timeout", nodeTimeout},
		{"2 dead, 1 hung", func(f *fakes) { f.each("ab", down); f.each("c", hang) }, "timeout", nodeTimeout},
		{"3 slow", func(f *fakes) { f.each("abc", func(n *fake) { n.delay["try"] = nodeTimeout / 2 }) }, "held", nodeTimeout / 2},
		{"1 slow", func(f *fakes) { f.each("a", func(n *fake) { n.delay["try"] = nodeTimeout / 2 }) }, "held", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				f := newFakes(5)
				c := start(t, f, drivers.Config{})
				s := c.client()
				test.set(f)
				l := drivers.Lease{Key: "k", TTL: ttl}
				var held bool
				var err error
				if d := took(func() { held, err = s.Try(t.Context(), &l) }); d != test.takes {
					t.Errorf("it took %v, want %v", d, test.takes)
				}
				got := "held"
				if err != nil {
					got = string(drivers.ClassOf(err))
				}
				if got != test.want || held != (err == nil) {
					t.Fatalf("Try = %v, %v (%s), want %s", held, err, got, test.want)
				}
				if held {
					release(t, s, &l, true)
				}
				synctest.Wait()
				time.Sleep(ttl / 2)
				for name, n := range f.nodes {
					if left := n.owners(); left > 0 && !n.hangs {
						t.Errorf("node %s is left with %d locks", name, left)
					}
				}
			})
		})
	}
}

// TestRefusal distinguishes contention from failure.
func TestRefusal(t *testing.T) {
	for _, test := range []struct {
		name  string
		other string // nodes on which another client holds the key
		down  string
		class drivers.Class // empty: refused without an error
	}{
		{"5 of 5", "abcde", "", ""},
		{"3 of 5", "abc", "", ""},
		{"3 of 5, 2 dead", "abc", "de", ""},
		{"2 of 5, 1 dead", "ab", "c", ""}, // though with the dead one there would be a majority
		{"1 of 5, 2 dead", "a", "bc", ""},
		{"2 of 5, 3 dead", "ab", "cde", drivers.ClassConnect},
	} {
		t.Run(test.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				f := newFakes(5)
				c := start(t, f, drivers.Config{})
				// The other client gets only the nodes that are up.
				f.each("abcde", func(n *fake) {
					if !strings.Contains(test.other, n.name) {
						n.down = refused
					}
				})
				c.client().Try(t.Context(), &drivers.Lease{Key: "k", TTL: ttl})
				if len(test.other) < 3 { // it gave them back, without a majority
					f.each(test.other, func(n *fake) { n.delay["release"] = time.Hour })
					c.client().Try(t.Context(), &drivers.Lease{Key: "k", TTL: ttl})
				}
				f.each("abcde", func(n *fake) {
					delete(n.delay, "release")
					if n.down = nil; strings.Contains(test.down, n.name) {
						n.down = refused
					}
				})
				held, err := c.client().Try(t.Context(), &drivers.Lease{Key: "k", TTL: ttl})
				if held || (err == nil) != (test.class == "") || err != nil && drivers.ClassOf(err) != test.class {
					t.Errorf("Try = %v, %v, want class %q", held, err, test.class)
				}
			})
		})
	}
}

// TestGivesBack: an attempt that gets two nodes of five gives these back, and reports it.
func TestGivesBack(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(5)
		c := start(t, f, drivers.Config{})
		f.each("ab", func(n *fake) { n.down = refused })
		holder, other := c.client(), c.client()
		l := drivers.Lease{Key: "k", TTL: ttl}
		try(t, holder, &l, true)
		synctest.Wait() // three nodes are a majority, and the others may not have been asked yet
		f.each("ab", func(n *fake) { n.down = nil })
		f.each("abcde", func(n *fake) { n.calls = nil })
		try(t, other, &drivers.Lease{Key: "k", TTL: ttl}, false)
		synctest.Wait()
		for name, n := range f.nodes {
			if got := n.took("release"); got != 1 {
				t.Errorf("node %s: %d releases, want 1: they go to all nodes", name, got)
			}
		}
		f.each("ab", func(n *fake) {
			if len(n.held) != 0 {
				t.Errorf("node %s keeps what a refused attempt got", n.name)
			}
		})
		if v := c.vote(); v.Held || v.Yes != 2 || v.No != 3 || v.Failed != 0 || !v.Split() {
			t.Errorf("vote %+v, want 2 of 5 and a split", v)
		}
		release(t, holder, &l, true)
	})
}

// TestAllNodeLatency distinguishes the time to the majority from the time to the last node.
func TestAllNodeLatency(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(5)
		c := start(t, f, drivers.Config{})
		for i, name := range names(5) {
			f.nodes[name].delay["try"] = time.Duration(i+1) * time.Millisecond
		}
		s := c.client()
		l := drivers.Lease{Key: "k", TTL: ttl}
		start := time.Now()
		try(t, s, &l, true)
		if d := time.Since(start); d != 3*time.Millisecond {
			t.Errorf("a majority took %v, want 3ms", d)
		}
		if want := start.Add(ttl - ttl/100 - 2*time.Millisecond); !l.ValidUntil.Equal(want) {
			t.Errorf("valid until %v, want %v", l.ValidUntil, want)
		}
		time.Sleep(10 * time.Millisecond)
		if v := c.vote(); !v.Held || v.Yes != 5 || v.Elapsed != 5*time.Millisecond {
			t.Errorf("vote %+v, want 5 of 5 after 5ms", v)
		}
	})
}

// TestStragglers: the last requests of two clients are late at different nodes, and a third client is refused a free key
// until they have passed. No client owns it meanwhile, and it is granted after that.
func TestStragglers(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(3)
		c := start(t, f, drivers.Config{})
		const late = 10 * time.Millisecond
		for id, far := range []string{"a", "b"} {
			f.each(far, func(n *fake) { n.far[id] = late })
		}
		for id := range 2 {
			s, l := c.number(id), drivers.Lease{Key: "k", TTL: ttl}
			try(t, s, &l, true)
			release(t, s, &l, true)
		}
		time.Sleep(late + late/2) // their grants have arrived, and their releases have not
		third := c.number(2)
		try(t, third, &drivers.Lease{Key: "k", TTL: ttl}, false)
		time.Sleep(late)
		try(t, third, &drivers.Lease{Key: "k", TTL: ttl}, true)
	})
}

// TestHungNodeTakesNoRoom goes on for long with a node that hangs: it gets few requests, the others all of them, and
// its requests end soon.
func TestHungNodeTakesNoRoom(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(3)
		c := start(t, f, drivers.Config{})
		s := c.client()
		f.each("a", func(n *fake) { n.hangs = true })
		l := drivers.Lease{Key: "k", TTL: ttl}
		const cycles = 1000
		d := took(func() {
			for range cycles {
				try(t, s, &l, true)
				release(t, s, &l, true)
			}
		})
		if d > 2*nodeTimeout {
			t.Errorf("a node that hangs held the others up for %v", d)
		}
		for name, n := range f.nodes {
			if got := n.took("try"); name == "a" && got > 8 || name != "a" && got != cycles {
				t.Errorf("node %s was tried %d times", name, got)
			}
		}
		time.Sleep(10 * nodeTimeout) // its requests are over
		f.each("a", func(n *fake) { n.hangs = false })
		for range 3 { // its session notices with the next answer
			try(t, s, &l, true)
			release(t, s, &l, true)
			synctest.Wait()
		}
		if got := f.nodes["a"].took("try"); got != 3 {
			t.Errorf("the node was tried %d times of 3 after it had come back", got)
		}
		nodes := c.Service.(drivers.Voter).Nodes()
		if nodes[0].Failed == 0 || nodes[0].Err == nil || nodes[1].Failed != 0 || nodes[1].Err != nil {
			t.Errorf("nodes %+v", nodes)
		}
	})
}

// TestRenewalsLeaveRoom renews so often that a node which hangs is behind: the release must reach it all the same, because it
// has the key.
func TestRenewalsLeaveRoom(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(3)
		s := start(t, f, drivers.Config{}).client()
		l := drivers.Lease{Key: "k", TTL: ttl}
		try(t, s, &l, true)
		synctest.Wait()
		f.each("a", func(n *fake) { n.hangs = true })
		for range 20 {
			owned, err := s.(drivers.Renewer).Renew(t.Context(), &l)
			must(t, "Renew", owned, err, true)
		}
		f.each("a", func(n *fake) { n.hangs = false })
		release(t, s, &l, true)
		time.Sleep(10 * nodeTimeout)
		for name, n := range f.nodes {
			if n.owners() > 0 {
				t.Errorf("node %s has the key %v before its lease ends", name, ttl-10*nodeTimeout)
			}
		}
	})
}

// TestRenewAndRemaining asks a majority.
func TestRenewAndRemaining(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(5)
		c := start(t, f, drivers.Config{})
		s := c.client()
		remaining := func(want time.Duration) {
			t.Helper()
			if rest, err := s.(drivers.Remainer).Remaining(t.Context(), &drivers.Lease{Key: "k"}); err != nil || rest != want {
				t.Errorf("Remaining = %v, %v, want %v", rest, err, want)
			}
		}
		remaining(0)
		l := drivers.Lease{Key: "k", TTL: ttl}
		try(t, s, &l, true)
		synctest.Wait()
		time.Sleep(ttl / 2)
		remaining(ttl / 2)
		f.each("ab", func(n *fake) { n.down = refused })
		remaining(ttl / 2)
		owned, err := s.(drivers.Renewer).Renew(t.Context(), &l)
		must(t, "Renew at 3 of 5", owned, err, true)
		remaining(ttl)
		if want := time.Now().Add(ttl - ttl/100 - 2*time.Millisecond); !l.ValidUntil.Equal(want) {
			t.Errorf("valid until %v, want %v", l.ValidUntil, want)
		}
		synctest.Wait() // a and b have refused, too: three made the majority
		f.each("ab", func(n *fake) { n.down = nil })
		time.Sleep(ttl * 3 / 4) // a and b have freed it
		remaining(ttl / 4)
		f.each("c", func(n *fake) { n.down = refused })
		if _, err := s.(drivers.Renewer).Renew(t.Context(), &l); err == nil {
			t.Error("Renew at 2 of 5 with 1 dead has an answer")
		}
		f.each("c", func(n *fake) { n.down = nil })
		synctest.Wait()
		time.Sleep(ttl / 2) // c has too
		owned, err = s.(drivers.Renewer).Renew(t.Context(), &l)
		must(t, "Renew at 2 of 5", owned, err, false)
	})
}

// TestOpen opens with nodes that are down. They stay out, also when they answer again.
func TestOpen(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(5)
		f.each("ab", func(n *fake) { n.down = refused })
		c, e, woken := listen(t, f)
		f.each("ab", func(n *fake) { n.down = nil })
		if nodes := c.Service.(drivers.Voter).Nodes(); nodes[0].Err == nil || nodes[2].Err != nil {
			t.Errorf("Nodes does not tell which are down: %+v", nodes)
		}
		if err := e.Add(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		l := drivers.Lease{Key: "k", TTL: ttl}
		s := c.client()
		try(t, s, &l, true)
		release(t, s, &l, true)
		synctest.Wait()
		if opened := f.nodes["a"].opened; opened != 1 || f.nodes["a"].took("try") != 0 || woken.count("k") != 1 {
			t.Errorf("a node that is down was opened %d times, and a release has woken %d times", opened, woken.count("k"))
		}
	})
}

// TestContextEnds cancels an attempt that waits for its nodes. What it has got is given back.
func TestContextEnds(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(3)
		c := start(t, f, drivers.Config{})
		s := c.client()
		f.each("abc", func(n *fake) { n.delay["try"] = nodeTimeout / 2 })
		ctx, cancel := context.WithTimeout(t.Context(), nodeTimeout/4)
		defer cancel()
		l := drivers.Lease{Key: "k", TTL: ttl}
		held, err := s.Try(ctx, &l)
		if held || drivers.ClassOf(err) != drivers.ClassTimeout {
			t.Errorf("Try = %v, %v, want class timeout", held, err)
		}
		time.Sleep(nodeTimeout)
		for name, n := range f.nodes {
			if n.owners() != 0 {
				t.Errorf("node %s keeps it", name)
			}
		}
	})
}

// TestClientOutlastsContext: the node time-out holds although client libraries go on, also for an attempt behind such a request.
func TestClientOutlastsContext(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(3)
		s := start(t, f, drivers.Config{}).client()
		f.each("ab", func(n *fake) { n.hangs, n.goesOn = true, time.Minute })
		l := drivers.Lease{Key: "k", TTL: ttl}
		for range 2 {
			begin := time.Now()
			held, err := s.Try(t.Context(), &l)
			if d := time.Since(begin); held || drivers.ClassOf(err) != drivers.ClassTimeout || d > 2*nodeTimeout {
				t.Errorf("Try = %v, %v after %v, want class timeout", held, err, d)
			}
		}
	})
}

// TestTooLate: a majority that answers when the lease is over is a refusal, and what it has granted is given back.
func TestTooLate(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(3)
		s := start(t, f, drivers.Config{}).client()
		f.each("abc", func(n *fake) { n.delay["try"] = 30 * time.Millisecond })
		l := drivers.Lease{Key: "k", TTL: 30 * time.Millisecond}
		try(t, s, &l, false)
		synctest.Wait()
		for name, n := range f.nodes {
			if n.owners() != 0 {
				t.Errorf("node %s keeps it", name)
			}
		}
		l.TTL = 2 * time.Millisecond
		if held, err := s.Try(t.Context(), &l); held || err == nil {
			t.Errorf("Try with a TTL that drift eats up = %v, %v", held, err)
		}
	})
}

// TestOpenRefuses opens what cannot be a quorum.
func TestOpenRefuses(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(3)
		f.each("ab", func(n *fake) { n.down = refused })
		for want, addrs := range map[string][]string{
			"1 of 3 nodes answer and 2 have to: node 1: fake: connection refused": names(3), "0 addresses": nil,
		} {
			_, err := quorum.Driver{Node: f}.Open(t.Context(), drivers.Config{Addrs: addrs})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		for _, class := range []drivers.Class{drivers.ClassAuth, drivers.ClassReadOnly} {
			f.each("ab", func(n *fake) { n.down = nil })
			f.each("c", func(n *fake) { n.down = &drivers.Error{Class: class, Op: "open", Err: errors.New("refused")} })
			_, err := quorum.Driver{Node: f}.Open(t.Context(), drivers.Config{Addrs: names(3)})
			if err == nil || !strings.Contains(err.Error(), "node 3: ") || drivers.ClassOf(err) != class {
				t.Errorf("one node of 3 refuses: %v, want class %s", err, class)
			}
		}
	})
}
