package quorum_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/memory"
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
		{"3 hung", func(f *fakes) { f.each("abc", hang) }, "timeout", 2 * nodeTimeout}, // the attempt and its release
		{"3 mute", func(f *fakes) { f.each("abc", mute) }, "timeout", 2 * nodeTimeout},
		{"2 dead, 1 hung", func(f *fakes) { f.each("ab", down); f.each("c", hang) }, "timeout", 2 * nodeTimeout},
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
					owned, err := s.Release(t.Context(), &l)
					must(t, "Release", owned, err, true)
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

// TestMinorityRefuses: two of five nodes refuse, two have failed, and the last one, which has failed before, does not
// answer yet. That is no refusal: the attempt waits for the last one, whose answer decides.
func TestMinorityRefuses(t *testing.T) {
	for answers, class := range map[bool]drivers.Class{true: "", false: drivers.ClassTimeout} {
		in(t, func(t *testing.T) {
			f := newFakes(5)
			c := start(t, f, drivers.Config{})
			held, err := c.client().Try(t.Context(), &drivers.Lease{Key: "k", TTL: ttl})
			must(t, "Try", held, err, true)
			synctest.Wait()
			s := c.client()
			f.each("e", func(n *fake) { n.hangs = true })
			held, err = s.Try(t.Context(), &drivers.Lease{Key: "k", TTL: ttl})
			must(t, "Try with e hung", held, err, false)
			time.Sleep(3 * nodeTimeout) // until e is asked again
			f.each("cd", func(n *fake) { n.down = refused })
			if answers {
				f.each("e", func(n *fake) { n.hangs, n.delay["try"] = false, nodeTimeout/2 })
			}
			held, err = s.Try(t.Context(), &drivers.Lease{Key: "k", TTL: ttl})
			if held || (err == nil) != answers || err != nil && drivers.ClassOf(err) != class {
				t.Errorf("e answers: %t; Try = %v, %v", answers, held, err)
			}
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
		held, err := holder.Try(t.Context(), &l)
		must(t, "Try", held, err, true)
		synctest.Wait() // three nodes are a majority, and the others may not have been asked yet
		f.each("ab", func(n *fake) { n.down = nil })
		f.each("abcde", func(n *fake) { n.calls = nil })
		held, err = other.Try(t.Context(), &drivers.Lease{Key: "k", TTL: ttl})
		must(t, "Try", held, err, false)
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
		owned, err := holder.Release(t.Context(), &l)
		must(t, "Release", owned, err, true)
	})
}

// TestLateGrant: a node grants the key after the attempt has failed, when the client no longer waits for it. The grant is
// given back.
func TestLateGrant(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(5)
		c := start(t, f, drivers.Config{})
		f.each("bcde", func(n *fake) { n.down = refused })
		f.each("a", func(n *fake) { n.delay["try"] = nodeTimeout / 2 })
		held, err := c.client().Try(t.Context(), &drivers.Lease{Key: "k", TTL: ttl})
		if held || err == nil {
			t.Errorf("Try with four of five nodes down = %v, %v", held, err)
		}
		synctest.Wait()
		if v := c.vote(); v.Late != 1 || v.Held || v.Elapsed != nodeTimeout/2 {
			t.Errorf("vote %+v, want 1 late grant after %v", v, nodeTimeout/2)
		}
		if f.nodes["a"].owners() != 0 {
			t.Error("a late grant is kept")
		}
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
		held, err := s.Try(t.Context(), &l)
		must(t, "Try", held, err, true)
		if d := time.Since(start); d != 3*time.Millisecond {
			t.Errorf("a majority took %v, want 3ms", d)
		}
		if want := start.Add(ttl - ttl/100 - 2*time.Millisecond); !l.ValidUntil.Equal(want) {
			t.Errorf("valid until %v, want %v", l.ValidUntil, want)
		}
		time.Sleep(10 * time.Millisecond)
		if v := c.vote(); !v.Held || v.Yes != 5 || v.Late != 0 || v.Elapsed != 5*time.Millisecond {
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
			held, err := s.Try(t.Context(), &l)
			must(t, "Try", held, err, true)
			owned, err := s.Release(t.Context(), &l)
			must(t, "Release", owned, err, true)
		}
		time.Sleep(late + late/2) // their grants have arrived, and their releases have not
		third := c.number(2)
		held, err := third.Try(t.Context(), &drivers.Lease{Key: "k", TTL: ttl})
		must(t, "Try", held, err, false)
		time.Sleep(late)
		held, err = third.Try(t.Context(), &drivers.Lease{Key: "k", TTL: ttl})
		must(t, "Try", held, err, true)
	})
}

// TestTooLate: the majority answers when the lease is over, which the node time-out does not prevent. That is a refusal if the
// nodes confirm that nothing is left of it.
func TestTooLate(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(3)
		c := start(t, f, drivers.Config{})
		s := c.client()
		f.each("abc", func(n *fake) { n.delay["try"] = 30 * time.Millisecond })
		l := drivers.Lease{Key: "k", TTL: 30 * time.Millisecond}
		if held, err := s.Try(t.Context(), &l); held || err != nil {
			t.Errorf("Try = %v, %v, want a refusal", held, err)
		}
		f.each("c", func(n *fake) { n.delay["release"] = time.Second })
		if held, err := s.Try(t.Context(), &l); held || err != nil {
			t.Errorf("with a node that does not answer Try = %v, %v, want a refusal", held, err)
		}
		f.each("ab", func(n *fake) { n.delay["release"] = time.Second })
		if held, err := s.Try(t.Context(), &l); held || drivers.ClassOf(err) != drivers.ClassTimeout || drivers.NoEffect(err) {
			t.Errorf("Try = %v, %v, want class timeout: a majority has not said that it is undone", held, err)
		}
		l.TTL = 2 * time.Millisecond
		if held, err := s.Try(t.Context(), &l); held || err == nil {
			t.Errorf("Try with a TTL that drift eats up = %v, %v", held, err)
		}
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
				held, err := s.Try(t.Context(), &l)
				must(t, "Try", held, err, true)
				owned, err := s.Release(t.Context(), &l)
				must(t, "Release", owned, err, true)
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
			held, err := s.Try(t.Context(), &l)
			must(t, "Try", held, err, true)
			owned, err := s.Release(t.Context(), &l)
			must(t, "Release", owned, err, true)
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
		held, err := s.Try(t.Context(), &l)
		must(t, "Try", held, err, true)
		synctest.Wait()
		f.each("a", func(n *fake) { n.hangs = true })
		for range 20 {
			owned, err := s.(drivers.Renewer).Renew(t.Context(), &l)
			must(t, "Renew", owned, err, true)
		}
		f.each("a", func(n *fake) { n.hangs = false })
		owned, err := s.Release(t.Context(), &l)
		must(t, "Release", owned, err, true)
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
		held, err := s.Try(t.Context(), &l)
		must(t, "Try", held, err, true)
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

// TestRemainingOfSome asks for the rest of a lease when not all nodes know it.
func TestRemainingOfSome(t *testing.T) {
	const late = 20 * time.Millisecond
	in(t, func(t *testing.T) {
		f := newFakes(5)
		c := start(t, f, drivers.Config{})
		s := c.client()
		remaining := func(what string, want, takes time.Duration) {
			t.Helper()
			var rest time.Duration
			var err error
			d := took(func() { rest, err = s.(drivers.Remainer).Remaining(t.Context(), &drivers.Lease{Key: "k"}) })
			if err != nil || rest != want || d != takes {
				t.Errorf("%s: Remaining = %v, %v after %v; want %v after %v", what, rest, err, d, want, takes)
			}
		}
		remaining("free", 0, 0)
		f.each("a", func(n *fake) { n.hangs = true })
		remaining("free at four nodes, and one hangs", 0, 0)
		time.Sleep(2 * nodeTimeout)
		f.each("ab", func(n *fake) { n.hangs, n.down = false, refused })
		f.each("e", func(n *fake) { n.delay["try"] = late })
		held, err := c.number(1).Try(t.Context(), &drivers.Lease{Key: "k", TTL: ttl})
		must(t, "Try at c, d and e", held, err, true)
		remaining("two do not answer, and the last of the others has granted it late", ttl, 0)
		f.each("a", func(n *fake) { n.down, n.hangs = nil, true })
		remaining("one is down and one hangs", ttl-nodeTimeout, nodeTimeout)
		f.each("cde", func(n *fake) { n.stays = true })
		f.each("a", func(n *fake) { n.hangs, n.down = false, refused })
		remaining("it does not end at a majority", -1, 0)
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
		held, err := s.Try(t.Context(), &l)
		must(t, "Try", held, err, true)
		owned, err := s.Release(t.Context(), &l)
		must(t, "Release", owned, err, true)
		synctest.Wait()
		if opened := f.nodes["a"].opened; opened != 1 || f.nodes["a"].took("try") != 0 || woken.count("k") != 1 {
			t.Errorf("a node that is down was opened %d times, and a release has woken %d times", opened, woken.count("k"))
		}
	})
}

// TestOpenRefuses opens what cannot be a quorum.
func TestOpenRefuses(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(3)
		f.each("ab", func(n *fake) { n.down = refused })
		for _, test := range []struct {
			cfg  drivers.Config
			want string
		}{
			{drivers.Config{Addrs: names(3)}, "1 of 3 nodes answer and 2 have to: node 1: fake: connection refused"},
			{drivers.Config{}, "0 addresses"},
			{drivers.Config{Addrs: []string{"c", "c"}}, "two votes"},
			{drivers.Config{Addrs: names(3), Topology: drivers.TopologyCluster}, "topology"},
			{drivers.Config{Addrs: names(3), NodeTimeout: -1}, "node time-out"},
		} {
			_, err := quorum.Driver{Node: f}.Open(t.Context(), test.cfg)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%+v: %v, want %q", test.cfg, err, test.want)
			}
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

// TestAllocs checks that the requests of a cycle, of which there are two, allocate little, and nothing for each node:
// memory's sessions allocate nothing, and an owner is a fraction.
func TestAllocs(t *testing.T) {
	s, err := quorum.Driver{Node: memory.Driver{}}.Open(t.Context(), drivers.Config{Addrs: names(five), NodeTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, err := s.Session(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	l := drivers.Lease{Key: "k", TTL: time.Minute}
	if n := testing.AllocsPerRun(1000, func() {
		held, err := a.Try(context.Background(), &l)
		must(t, "Try", held, err, true)
		owned, err := a.Release(context.Background(), &l)
		must(t, "Release", owned, err, true)
	}); n > 12 {
		t.Errorf("a cycle allocates %v times", n)
	}
}

// TestSplitVotes makes three clients try for one key at once, over and over: it is never held twice, and free in the
// end.
func TestSplitVotes(t *testing.T) {
	f := newFakes(five)
	cfg := drivers.Config{Addrs: names(five), NodeTimeout: time.Minute}
	s, err := quorum.Driver{Node: f}.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var inside atomic.Int32
	var all sync.WaitGroup
	for i := range 3 {
		a, err := s.Session(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for range 500 {
				l := drivers.Lease{Key: "k", TTL: time.Minute}
				held, err := a.Try(context.Background(), &l)
				if err != nil {
					t.Error(err)
				}
				if !held {
					continue
				}
				if inside.Add(1) > 1 {
					t.Error("two clients hold the key")
				}
				runtime.Gosched()
				inside.Add(-1)
				if owned, err := a.Release(context.Background(), &l); !owned || err != nil {
					t.Errorf("Release = %v, %v", owned, err)
				}
			}
		})
	}
	all.Wait()
	s.Close() // after this, all requests are done
	for name, n := range f.nodes {
		if left := n.owners(); left != 0 {
			t.Errorf("node %s is left with %d locks", name, left)
		}
	}
}
