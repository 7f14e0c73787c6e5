package drivertest

// The table of cases, and the conditions under which they apply.

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/lockbench/lockbench/drivers"
)

// cases is the whole suite, in the order in which a new driver passes it.
var cases = []oneCase{
	// What a driver says about itself.
	{name: "design", run: design},
	{name: "unknown lock", run: unknownLock},
	{name: "capabilities", run: capabilities},

	// One holder at a time.
	{name: "exclusion", run: exclusion},
	{name: "concurrency", when: exclusive, run: concurrency},
	{name: "independent keys", when: exclusive, run: independentKeys},
	{name: "another process", when: remote, run: anotherProcess},
	{name: "re-entry", when: exclusive, run: reentry},
	{name: "order", when: exclusive, run: order},

	// Releasing it.
	{name: "release by others", when: exclusive, run: releaseByOthers},
	{name: "late release", timed: true, when: outlasted, run: lateRelease},

	// The lease.
	{name: "owner", when: owned, run: owner},
	{name: "adopted owner", when: adopts, run: adoptedOwner},
	{name: "fence", timed: true, when: exclusive, run: fence},
	{name: "lease", when: exclusive, run: leaseItself},
	{name: "expiry", timed: true, when: exclusive, run: expiry},
	{name: "expiry after release", timed: true, when: expires, run: expiryAfterRelease},
	{name: "renewal", timed: true, when: renews, run: renewal},
	{name: "renewal of a lost lease", timed: true, when: admitsLoss, run: renewalOfLost},
	{name: "remaining", when: remains, run: remaining},

	// The session that a hold may belong to.
	{name: "session ends", when: cuts, run: sessionEnds},
	{name: "closed session", when: closes, run: closedSession},

	// A holder that dies.
	{name: "crash", timed: true, when: dies, run: crash},

	// Waiting, by sessions with a way of their own.
	{name: "wait for a release", when: waits, run: waitForRelease},
	{name: "wait after a release", when: waits, run: waitAfterRelease},
	{name: "wait ends at the deadline", timed: true, when: waits, run: waitDeadline},
	{name: "wait ends with its context", when: waits, run: waitContext},
	{name: "wait for a dead holder", timed: true, when: outlives, run: waitForDead},
	{name: "leave", when: waits, run: leave},
	{name: "leave after a wake-up", when: waits, run: leaveAfterWake},
	{name: "wait ends at a release", timed: true, races: true, when: waits, run: waitEndsAtRelease},

	// Waiting, by listening.
	{name: "wake-up", when: wakes, run: wakeUp},
	{name: "listener removes", when: wakes, run: listenerRemoves},
	{name: "wait by listening", when: wakes, run: waitByListening},

	// Sleeping on the server.
	{name: "blocks", timed: true, when: exclusive, run: blocks},
	{name: "cancelled block", when: sleeps, run: blockCancelled},

	// When no answer arrives.
	{name: "cancelled", when: exclusive, run: cancelled},
	{name: "attempt ends at a release", timed: true, races: true, when: exclusive, run: attemptEndsAtRelease},
	{name: "cut", timesOut: true, when: cuts, run: cutOff},
	{name: "wait over a cut", timesOut: true, when: cutsWaits, run: waitOverCut},
	{name: "listener after a cut", timesOut: true, when: cutsWakes, run: listenerAfterCut},
	{name: "reply after a limit", timed: true, when: stalls, run: replyAfterLimit},
	{name: "lost reply", timesOut: true, when: mutes, run: lostReply},

	// The service.
	{name: "clean", when: cleans, run: clean},
	{name: "probe", when: probes, run: probe},
	{name: "inspect", when: inspects, run: inspect},
	{name: "traffic", when: counts, run: traffic},
	{name: "crowd", alone: true, once: true, run: crowd},
	{name: "close", run: closing},
	{name: "goroutines", run: goroutines},
}

// oneCase is a case of the suite. A nil when means always. timed marks cases that wait for leases to expire, without
// disturbing others; alone marks those that others would disturb; once marks those with the same outcome for all
// designs with the same kind of session; timesOut marks those in which a request waits for Config.IOTimeout; races marks those
// that race two events again and again.
type oneCase struct {
	name     string
	timed    bool
	alone    bool
	once     bool
	timesOut bool
	races    bool
	when     func(known) bool
	run      func(*T)
}

func (c oneCase) applies(k known) bool { return c.when == nil || c.when(k) }

// known is what decides which cases apply.
type known struct {
	Setup
	design drivers.Design
	traits drivers.Traits // of the design
	kind   string         // of the sessions: equal if they live and wait alike

	// Capabilities that no trait claims.
	waiter, remainer, adopter, closer, crasher, cleaner, pinger, prober, inspector, counter bool
}

// find opens the service once to look for capabilities.
func find(ctx context.Context, s Setup) (k known, failure *Failure) {
	fail := func(err error) (known, *Failure) { return k, &Failure{"design", err.Error()} }
	var err error
	k.Setup = s
	if k.design, err = drivers.FindDesign(s.Driver, s.Config.Lock); err != nil {
		return fail(err)
	}
	k.traits = k.design.Traits
	ctx, cancel := context.WithTimeout(ctx, caseTime)
	defer cancel()
	cfg := unhurried(s.Config)
	cfg.Clients, cfg.Wakes = 1, true
	svc, err := s.Driver.Open(ctx, cfg)
	if err != nil {
		return fail(fmt.Errorf("opening the service: %w", err))
	}
	defer svc.Close()
	session, err := svc.Session(ctx, 0)
	if err != nil {
		return fail(fmt.Errorf("making a session: %w", err))
	}
	closer, ok := drivers.As[io.Closer](session)
	if k.closer = ok; ok {
		defer closer.Close()
	}
	t := k.traits
	// %#v includes the functions of a driver, by their addresses.
	k.kind = fmt.Sprintf("%#v %v %d %v %v %v", s.Driver, cfg.Topology, cfg.Conns, cfg.Embedded, cfg.Pipelining,
		[]bool{t.Session, t.Waits, t.Wakes, t.Blocks, t.Fair, t.Reentrant})
	_, k.waiter = drivers.As[drivers.Waiter](session)
	_, k.remainer = drivers.As[drivers.Remainer](session)
	_, k.adopter = drivers.As[drivers.Adopter](session)
	_, k.crasher = drivers.As[drivers.Crasher](session)
	_, k.cleaner = drivers.As[drivers.Cleaner](svc)
	_, k.pinger = drivers.As[drivers.Pinger](svc)
	_, k.prober = drivers.As[drivers.Prober](svc)
	_, k.inspector = drivers.As[drivers.Inspector](svc)
	_, k.counter = drivers.As[drivers.Counter](svc)
	return k, nil
}

// The conditions of the table. A design that excludes nothing need not do anything else that a lock does.
func exclusive(k known) bool { return k.traits.Exclusive }
func remote(k known) bool {
	a, ok := k.Driver.(drivers.Addressed)
	return ok && a.Service() != "" && k.traits.Exclusive
}
func expires(k known) bool   { return k.traits.Exclusive && k.traits.Expires }
func outlasted(k known) bool { return expires(k) && k.traits.Owned }
func renews(k known) bool    { return k.traits.Exclusive && k.traits.Renews }
func admitsLoss(k known) bool {
	return renews(k) && !slices.Contains(k.design.Loses, drivers.HazardRenewalReacquires)
}
func wakes(k known) bool     { return k.traits.Exclusive && k.traits.Wakes }
func sleeps(k known) bool    { return k.traits.Exclusive && k.traits.Blocks }
func owned(k known) bool     { return k.traits.Exclusive && k.traits.Owned }
func waits(k known) bool     { return k.traits.Exclusive && k.waiter }
func closes(k known) bool    { return k.traits.Exclusive && (k.closer || k.traits.Session) }
func outlives(k known) bool  { return waits(k) && (k.traits.Expires || k.closer && k.traits.Session) }
func dies(k known) bool      { return k.traits.Exclusive && (k.crasher || !k.traits.Session) }
func remains(k known) bool   { return k.traits.Exclusive && k.remainer }
func adopts(k known) bool    { return owned(k) && k.adopter && !k.traits.Reentrant }
func cleans(k known) bool    { return k.traits.Exclusive && k.cleaner }
func probes(k known) bool    { return k.traits.Exclusive && (k.prober || k.pinger) }
func inspects(k known) bool  { return k.inspector }
func counts(k known) bool    { return k.traits.Exclusive && k.counter }
func cuts(k known) bool      { return k.traits.Exclusive && k.Cut != nil }
func cutsWaits(k known) bool { return cuts(k) && waits(k) }
func cutsWakes(k known) bool { return cuts(k) && k.traits.Wakes }
func stalls(k known) bool    { return k.traits.Exclusive && k.Stall != nil }
func mutes(k known) bool     { return k.traits.Exclusive && k.Mute != nil }
