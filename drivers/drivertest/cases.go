package drivertest

// cases is the whole suite, in the order in which a new driver comes to pass it.
var cases = []oneCase{
	// What a driver says about itself.
	{name: "design", run: design},
	{name: "unknown lock", run: unknownLock},
	{name: "capabilities", run: capabilities},

	// One holder at a time.
	{name: "exclusion", run: exclusion},
	{name: "concurrency", when: exclusive, run: concurrency},
	{name: "independent keys", when: exclusive, run: independentKeys},
	{name: "contention", when: exclusive, run: contention},
	{name: "re-entry", when: exclusive, run: reentry},
	{name: "order", when: exclusive, run: order},

	// Giving it up.
	{name: "release of nothing", when: exclusive, run: releaseOfNothing},
	{name: "release by a stranger", when: exclusive, run: releaseByStranger},
	{name: "late release", timed: true, when: expires, run: lateRelease},

	// The lease.
	{name: "owner", when: owned, run: owner},
	{name: "fence", when: exclusive, run: fence},
	{name: "lease is the caller's", when: exclusive, run: leaseIsTheCallers},
	{name: "lease fields", when: exclusive, run: leaseFields},
	{name: "expiry", timed: true, when: exclusive, run: expiry},
	{name: "expiry after release", timed: true, when: expires, run: expiryAfterRelease},
	{name: "renewal", timed: true, when: renews, run: renewal},
	{name: "renewal of a lost lease", timed: true, when: renews, run: renewalOfLost},
	{name: "remaining", when: exclusive, run: remaining},

	// Waiting, by sessions that have a way of their own.
	{name: "wait for a release", when: exclusive, run: waitForRelease},
	{name: "wait after a release", when: exclusive, run: waitAfterRelease},
	{name: "wait ends at the deadline", timed: true, when: exclusive, run: waitDeadline},
	{name: "wait ends with its context", when: exclusive, run: waitContext},
	{name: "wait for an expiry", timed: true, when: expires, run: waitForExpiry},
	{name: "leave", when: exclusive, run: leave},
	{name: "leave after a wake-up", when: exclusive, run: leaveAfterWake},
	{name: "leave as holder", when: exclusive, run: leaveAsHolder},

	// Waiting, by listening.
	{name: "wake-up", when: wakes, run: wakeUp},
	{name: "wake-up of two listeners", when: wakes, run: wakeUpOfTwo},
	{name: "listener removes", when: wakes, run: listenerRemoves},
	{name: "wakes as configured", when: exclusive, run: wakesAsConfigured},
	{name: "many waiters", when: exclusive, run: manyWaiters},

	// When the answer is not heard.
	{name: "cancelled", when: exclusive, run: cancelled},
	{name: "cut", when: cut, run: cutOff},
	{name: "listener after a cut", when: cutWakes, run: listenerAfterCut},
	{name: "lost reply", when: mute, run: lostReply},

	// The service.
	{name: "clean", when: exclusive, run: clean},
	{name: "ping", run: ping},
	{name: "inspect", run: inspect},
	{name: "crowd", run: crowd},
	{name: "close", run: closing},
	{name: "goroutines", run: goroutines},
}
