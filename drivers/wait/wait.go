// Package wait has the ways of waiting for a lock that another client holds (-wait), and lockbench's only acquisition
// loop. A way of waiting is a drivers.Waiter made from any Session, so it works with every lock design: two ways are
// compared on the same lock, through the same loop.
//
// A Room is the waiting of one process on one service. Clients touch what they share in it only when they have to wait:
// an uncontended acquisition costs nothing here.
package wait

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// The names of the ways of waiting, as in -wait.
const (
	None    = "none"
	Poll    = "poll"
	Backoff = "backoff"
	PubSub  = "pubsub"
	Queue   = "queue"
	Block   = "block"
	Native  = "native"
)

// Kind describes a way of waiting, for listings and for plans that must know what it needs from a service.
type Kind struct {
	Name   string // the value of -wait
	Text   string // one line of help
	Wakes  bool   // releases have to wake subscribers: the service is opened with drivers.Config.Wakes
	Blocks bool   // releases have to wake a sleeper: the service is opened with drivers.Config.Blocks
	Local  bool   // the clients of a room share something, so the number of rooms matters (-lockers)
	Native bool   // the sessions have to be drivers.Waiters themselves
}

// Kinds lists every way of waiting, the simplest first.
func Kinds() []Kind {
	return []Kind{
		{Name: None, Text: "one try, then give up"},
		{Name: Poll, Text: "try again at a fixed interval"},
		{Name: Backoff, Text: "try again after a random delay whose bound doubles up to a limit (full jitter)"},
		{Name: PubSub, Text: "sleep until the release is published; it wakes every waiter of the key (the herd)",
			Wakes: true, Local: true},
		{Name: Queue, Text: "stand in a local line, whose front alone waits as by pubsub (-handover: how the next gets it)",
			Wakes: true, Local: true},
		{Name: Block, Text: "sleep on the server in a blocking list pop; a release wakes one waiter (a connection each)", Blocks: true},
		{Name: Native, Text: "whatever the service or library does by itself", Native: true},
	}
}

// The ways in which a queued lock goes from a client to the next in line, as in -handover.
const (
	HandoverRelease = "release" // it is released, and the next acquires it
	HandoverSwap    = "swap"    // it is passed on at the server, in one step; the sessions have to be drivers.Passers
)

// Handovers lists them, the one that works with every lock first.
func Handovers() []string { return []string{HandoverRelease, HandoverSwap} }

// Find returns the way of waiting with that name. The error lists them all.
func Find(name string) (Kind, error) {
	kinds := Kinds()
	names := make([]string, len(kinds))
	for i, k := range kinds {
		if k.Name == name {
			return k, nil
		}
		names[i] = k.Name
	}
	return Kind{}, fmt.Errorf("wait: unknown way of waiting %q; there are %s", name, strings.Join(names, ", "))
}

const (
	// DefaultPoll is the interval between two tries of a polling client. With a longer one, as in existing libraries, a
	// client that releases and returns at once nearly always wins; with 1 ms, 512 waiters ask more often than one server
	// answers.
	DefaultPoll = 10 * time.Millisecond

	// DefaultBackoffMin bounds the first delay of a client that backs off. The article's own simulator starts at half
	// of its one-way network delay, which here would be less than the Go runtime can sleep.
	DefaultBackoffMin = time.Millisecond

	// DefaultBackoffMax bounds every delay of a client that backs off. The article's simulator goes up to 2 s, for
	// requests that are served once; a client that wants a lock over and over starves on such delays. 100 ms is the
	// fixed interval of common polling libraries.
	DefaultBackoffMax = 100 * time.Millisecond

	// mostPasses is how many times in a row a lock is swapped before it is released, and clients of other processes get
	// their turn: see asks. A higher number makes releases cheaper, but they wait longer.
	mostPasses = 16
)

// Options are the settings of all ways of waiting; each uses its own. The zero value means the defaults.
type Options struct {
	Poll       time.Duration // interval between two tries; 0 means DefaultPoll
	BackoffMin time.Duration // bound of the first delay; 0 means DefaultBackoffMin
	BackoffMax time.Duration // bound of every delay; 0 means DefaultBackoffMax
	Seed       uint64        // of the delays; with the same seed, a client gets the same delays again

	Handover   string // one of Handovers(); empty means HandoverRelease
	mostPasses int    // a test's own; 0 means the constant

	Calls bool // of kind native: a library that waits by itself is called without a try before (drivers.Caller)

	Rooms int // that compete in this process, each as if in one of its own; 0 means 1
}

// complete fills in the defaults and rejects what makes no sense.
func (o Options) complete() (Options, error) {
	for _, f := range []struct {
		name  string
		value *time.Duration
		usual time.Duration
	}{
		{"poll interval", &o.Poll, DefaultPoll},
		{"least back-off", &o.BackoffMin, DefaultBackoffMin},
		{"greatest back-off", &o.BackoffMax, DefaultBackoffMax},
	} {
		if *f.value < 0 {
			return o, fmt.Errorf("wait: %s %v is negative", f.name, *f.value)
		}
		*f.value = cmp.Or(*f.value, f.usual)
	}
	if o.BackoffMin > o.BackoffMax {
		return o, fmt.Errorf("wait: least back-off %v is above the greatest, %v", o.BackoffMin, o.BackoffMax)
	}
	o.Handover = cmp.Or(o.Handover, HandoverRelease)
	if !slices.Contains(Handovers(), o.Handover) {
		return o, fmt.Errorf("wait: unknown hand-over %q; there are %s", o.Handover, strings.Join(Handovers(), ", "))
	}
	o.mostPasses = cmp.Or(o.mostPasses, mostPasses)
	return o, nil
}

// Room is the waiting of one process on one service: it makes the waiters and owns what they share. It is safe for
// concurrent use.
type Room struct {
	kind    Kind
	options Options
	traits  drivers.Traits
	votes   bool   // several nodes grant a lock together
	hub     *hub   // the shared subscription; nil unless the kind needs one
	lines   *lines // for kind queue; nil otherwise
}

// NewRoom prepares waiting of the named kind on svc; ctx bounds only the opening. It rejects an unknown kind, options
// that make no sense, and a kind that svc does not support. Close the room before the service.
func NewRoom(ctx context.Context, kind string, svc drivers.Service, o Options) (*Room, error) {
	k, err := Find(kind)
	if err != nil {
		return nil, err
	}
	if o, err = o.complete(); err != nil {
		return nil, err
	}
	if k.Blocks && !svc.Traits().Blocks {
		return nil, fmt.Errorf("wait: %s: releases of this lock, as opened, do not wake clients that sleep on the server; "+
			"poll and backoff work with every lock", kind)
	}
	r := &Room{kind: k, options: o, traits: svc.Traits()}
	_, r.votes = drivers.As[drivers.Voter](svc)
	if !k.Wakes {
		return r, nil
	}
	const instead = "none, poll and backoff work with every lock, and native if its sessions can wait by themselves"
	if !svc.Traits().Wakes {
		return nil, fmt.Errorf("wait: %s: releases of this lock, as opened, wake no waiters; %s", kind, instead)
	}
	sub, ok := drivers.As[drivers.Subscriber](svc)
	if !ok {
		return nil, fmt.Errorf("wait: %s: the releases of this lock cannot be listened to; %s", kind, instead)
	}
	if r.hub, err = newHub(ctx, sub, o.Rooms); err != nil {
		return nil, fmt.Errorf("wait: %s: open the subscription: %w", kind, err)
	}
	if kind == Queue {
		r.lines = newLines()
	}
	return r, nil
}

// Client makes client number id, with session s, wait in this way. It returns the session that the client must use from
// now on, because some ways have to know of its tries and releases; drivers.As finds the other capabilities of s in it.
// Like the session, the waiter is used by one goroutine at a time, the same one. It is nil for the kind none. Client
// returns an error if s cannot wait in this way.
func (r *Room) Client(s drivers.Session, id int) (drivers.Session, drivers.Waiter, error) {
	switch r.kind.Name {
	case Poll:
		return s, &poller{place: r.place(s), every: r.options.Poll}, nil
	case Backoff:
		b := r.backoff(id, r.options.BackoffMin, r.options.BackoffMax)
		b.place = r.place(s)
		return s, b, nil
	case PubSub:
		sub, err := r.subscriber(s, id)
		if err != nil {
			return nil, nil, err
		}
		return s, &sub, nil
	case Queue:
		q, err := r.queued(s, id)
		if err != nil {
			return nil, nil, err
		}
		return q, q, nil
	case Block:
		b, err := r.blocked(s)
		if err != nil {
			return nil, nil, err
		}
		return s, b, nil
	case Native:
		w, ok := drivers.As[drivers.Waiter](s)
		if !ok {
			return nil, nil, errors.New("wait: native: the sessions of this lock have no way of waiting of their own; " +
				"poll and backoff work with every lock")
		}
		if c, ok := w.(drivers.Caller); ok && r.options.Calls {
			own := newCalled(s, c)
			return own, own, nil
		}
		return s, w, nil
	}
	return s, nil, nil
}

// place returns the place in line that tries take, if they do; that makes a lock fair for clients that poll.
func (r *Room) place(s drivers.Session) place {
	if !r.traits.Fair {
		return place{}
	}
	w, _ := drivers.As[drivers.Waiter](s)
	return place{w}
}

func (r *Room) backoff(id int, least, most time.Duration) *backoff {
	return &backoff{min: least, max: most, bound: least, random: rand.New(rand.NewPCG(r.options.Seed, uint64(id)))}
}

func (r *Room) subscriber(s drivers.Session, id int) (subscriber, error) {
	lease, err := r.remainer(s)
	sub := subscriber{hub: r.hub, lease: lease, woken: newSlot()}
	if r.votes {
		sub.jitter = r.backoff(id, DefaultBackoffMin, DefaultBackoffMax)
	}
	return sub, err
}

// remainer returns what tells how long a sleep may be; nil if leases do not end.
func (r *Room) remainer(s drivers.Session) (drivers.Remainer, error) {
	lease, ok := drivers.As[drivers.Remainer](s)
	if !ok && r.traits.Expires {
		return nil, fmt.Errorf("wait: %s: the sessions of this lock cannot tell how long the holder's lease "+
			"still lasts, and expiry is not announced; poll and backoff work without", r.kind.Name)
	}
	return lease, nil
}

func (r *Room) blocked(s drivers.Session) (*blocked, error) {
	server, ok := drivers.As[drivers.Blocker](s)
	if !ok {
		return nil, errors.New("wait: block: the sessions of this lock cannot sleep on the server; poll and backoff work with every lock")
	}
	lease, err := r.remainer(s)
	return &blocked{server: server, lease: lease}, err
}

func (r *Room) queued(s drivers.Session, id int) (*queued, error) {
	sub, err := r.subscriber(s, id)
	if err != nil {
		return nil, err
	}
	q := &queued{
		Session: s, sub: sub, lines: r.lines, max: r.options.mostPasses, state: idle, woken: newSlot(),
		expires: r.traits.Expires, reentrant: r.traits.Reentrant,
	}
	if r.traits.Owned {
		var owners drivers.Owners
		q.localOwner = owners.Next()
	}
	if r.options.Handover == HandoverRelease {
		return q, nil
	}
	if q.passer, _ = drivers.As[drivers.Passer](s); q.passer == nil {
		return nil, errors.New("wait: queue: the sessions of this lock cannot pass it on; every lock can be handed over by release")
	}
	q.counter, _ = drivers.As[drivers.ListenerCounter](s)
	return q, nil
}

// Close ends the subscription. Call it when no client waits any more. A client that still does notices after MaxSleep
// at the latest; one in line is told.
func (r *Room) Close() error {
	if r.lines != nil {
		r.lines.close()
	}
	if r.hub == nil {
		return nil
	}
	if err := r.hub.close(); err != nil {
		return fmt.Errorf("wait: %s: close the subscription: %w", r.kind.Name, err)
	}
	return nil
}
