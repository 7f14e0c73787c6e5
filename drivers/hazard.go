package drivers

// Hazard is something that happens to a lock and by which some designs fail: they let two clients in, remove a lock of
// another client, or are never free again.
type Hazard string

const (
	HazardHolderDies         Hazard = "holder-dies"
	HazardCrashBeforeExpire  Hazard = "crash-before-expire"
	HazardOverrun            Hazard = "overrun"
	HazardWrongReleaseChain  Hazard = "wrong-release-chain"
	HazardGetDelGap          Hazard = "get-del-gap"
	HazardStealByDel         Hazard = "steal-by-del"
	HazardClientClock        Hazard = "client-clock"
	HazardReentryNoExtend    Hazard = "reentry-no-extend"
	HazardUnlockAfterRefusal Hazard = "unlock-after-refusal"
	HazardHolderPauses       Hazard = "holder-pauses"
	HazardOrphanWatchdog     Hazard = "orphan-watchdog"
	HazardFailover           Hazard = "failover"
	HazardWaitOne            Hazard = "wait-one"
	HazardRestartEmpty       Hazard = "restart-empty"
	HazardEviction           Hazard = "eviction"
	HazardServerClock        Hazard = "server-clock"
	HazardQuorumRestart      Hazard = "quorum-restart"
	HazardQuorumPause        Hazard = "quorum-pause"
	HazardQuorumNodesGone    Hazard = "quorum-nodes-gone"
	HazardAcquireReplyLost   Hazard = "acquire-reply-lost"
	HazardLateGrant          Hazard = "late-grant"
	HazardClientRetries      Hazard = "client-retries"
	HazardMissedWakeup       Hazard = "missed-wakeup"
	HazardSessionLost        Hazard = "session-lost"
	HazardConnectionCut      Hazard = "connection-cut"
	HazardFenceFailover      Hazard = "fence-failover"
	HazardHalfOpen           Hazard = "half-open"
	HazardRenewalReacquires  Hazard = "renewal-reacquires"
	HazardPooler             Hazard = "pooler"
	HazardWaitForever        Hazard = "wait-forever"
	HazardReentryMiscounted  Hazard = "reentry-miscounted"
	HazardLongHold           Hazard = "long-hold"
	HazardSharedConnections  Hazard = "shared-connections"
	HazardWaiterGone         Hazard = "waiter-gone"
	HazardWaiterSessionLost  Hazard = "waiter-session-lost"
	HazardCleanupLost        Hazard = "cleanup-lost"
)

// hazards has what happens and, after the colon, how a design loses to it; and the same as what goes before the loss, in a few words.
var hazards = []struct {
	hazard Hazard
	about  string
	after  string
}{
	{HazardHolderDies, "a holder dies without a release: its lock stays for ever", "the death of its holder"},
	{HazardCrashBeforeExpire, "a client dies between the commands of its acquisition: its lock stays for ever", "a crash amid its acquisition"},
	{HazardOverrun, "a holder keeps the lock beyond its lease, which is not renewed: the next client is let in", "an overrun"},
	{HazardWrongReleaseChain, "a holder overruns once: its release removes the next holder's lock, and so on", "a release that comes after an overrun"},
	{HazardGetDelGap, "the lease ends between a release's own check and its delete: it removes the next holder's lock", "a lease that ends amid a release"},
	{HazardStealByDel, "two waiters find the same expired lock: one deletes what the other has just taken", "two waiters at an expired lock"},
	{HazardClientClock, "the clock of a client is ahead, or that of a holder behind: the client takes a lock that is held", "a wrong clock of a client"},
	{HazardReentryNoExtend, "a holder enters again late in its lease: the inner hold outlives it", "a late re-entry"},
	{HazardUnlockAfterRefusal, "a client that was refused releases all the same: it removes the holder's lock", "an unlock by a client that was refused"},
	{HazardHolderPauses, "a holder, or what renews its lock, stops for longer than the lease or session, as in a GC pause: the next client is let in", "a pause"},
	{HazardOrphanWatchdog, "a release fails, and its client keeps the lease or the session alive all the same: the lock stays for ever", "a lost release while it is renewed"},
	{HazardFailover, "a replica that has not heard of a grant becomes the primary: it grants the lock again", "a fail-over"},
	{HazardWaitOne, "a replica that has not heard of a grant becomes the primary, though another has acknowledged it: it grants the lock again", "a fail-over to the wrong replica"},
	{HazardRestartEmpty, "the server restarts without what it had in memory: it grants the lock again", "a restart of the server"},
	{HazardEviction, "the server is out of memory and evicts the key: it grants the lock again", "an eviction"},
	{HazardServerClock, "the clock of the server jumps ahead: the lease ends too early", "a jump of the server's clock"},
	{HazardQuorumRestart, "one node of a bare majority restarts empty: another majority grants the lock again", "a restart of one node"},
	{HazardQuorumPause, "a client pauses between its count of the votes and its work: its majority has expired", "a pause after the votes"},
	{HazardQuorumNodesGone, "a minority of the nodes is dead or hangs: nobody gets the lock", "the loss of a minority"},
	{HazardAcquireReplyLost, "the client never hears that it has been granted the lock, and goes away: its lock stays for ever", "a lost grant"},
	{HazardLateGrant, "the grant arrives when its lease is over: the client enters beside the next holder", "a late grant"},
	{HazardClientRetries, "the client library sends a request again whose reply was lost: it removes the next holder's lock, or the lock counts twice", "a request that is sent again"},
	{HazardMissedWakeup, "a waiter does not hear of a release, which comes while it sleeps, before it listens or when its connection is gone or silent: it sleeps on a lock that is free, or its own", "a missed wake-up"},
	{HazardSessionLost, "the service ends the session of a holder that it does not hear from: the next client is let in", "the end of its session"},
	{HazardConnectionCut, "the connection of a holder breaks: the next client is let in", "a cut connection"},
	{HazardFenceFailover, "a replica that has not heard of the last grants becomes the primary: it issues their fencing tokens again", "a fail-over of its fences"},
	{HazardHalfOpen, "a holder vanishes, and what is between keeps its connection open: its lock stays until the server gives that up, which may take hours", "a half-open connection"},
	{HazardRenewalReacquires, "a renewal is late, in time or lost: its holder is told that it keeps the lock, which another client has had, has or gets", "a late renewal"},
	{HazardPooler, "a pooler lends the connection to others between transactions: the lock is theirs", "a pooler between"},
	{HazardWaitForever, "the new primary has fewer replicas than have to acknowledge: it refuses for ever", "a fail-over that leaves too few replicas"},
	{HazardReentryMiscounted, "a holder enters again and leaves as often: an inner release frees the key, or the last one does not", "nested sections"},
	{HazardLongHold, "a holder keeps its lock for several leases, which are renewed: the renewals end too early, or go on after its release", "a long hold"},
	{HazardSharedConnections, "two clients of one process share its connections: the second is let in, as if it were the first", "a second client of its process"},
	{HazardWaiterGone, "a client that waits before another gives up or dies: the other is let in beside the holder, or never", "the end of a waiter before it"},
	{HazardWaiterSessionLost, "the session of a client ends while it waits: it takes its turn all the same, beside the next holder", "the end of a waiter's session"},
	{HazardCleanupLost, "a client is refused, or gives up, and what is to remove its place in the queue is lost: the key stays taken", "a lost clean-up"},
}

// Hazards lists all hazards.
func Hazards() []Hazard {
	all := make([]Hazard, len(hazards))
	for i, h := range hazards {
		all[i] = h.hazard
	}
	return all
}

// About returns one line that says what happens and, after a colon, how a design loses to it; empty if h is unknown.
func (h Hazard) About() string {
	about, _ := h.texts()
	return about
}

// After returns a hazard as what goes before a loss, in a few words: "an overrun"; empty if h is unknown.
func (h Hazard) After() string {
	_, after := h.texts()
	return after
}

func (h Hazard) texts() (about, after string) {
	for _, known := range hazards {
		if known.hazard == h {
			return known.about, known.after
		}
	}
	return "", ""
}
