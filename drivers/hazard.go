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
)

// hazards has what happens and, after the colon, how a design loses to it.
var hazards = []struct {
	hazard Hazard
	about  string
}{
	{HazardHolderDies, "a holder dies without a release: its lock stays for ever"},
	{HazardCrashBeforeExpire, "a client dies between the commands of its acquisition: its lock stays for ever"},
	{HazardOverrun, "a holder keeps the lock beyond its lease, which is not renewed: the next client is let in"},
	{HazardWrongReleaseChain, "a holder overruns once: its release removes the next holder's lock, and so on"},
	{HazardGetDelGap, "the lease ends between a release's own check and its delete: it removes the next holder's lock"},
	{HazardStealByDel, "two waiters find the same expired lock: one deletes what the other has just taken"},
	{HazardClientClock, "the clock of a client is ahead: it takes a lock that is held"},
	{HazardReentryNoExtend, "a holder enters again late in its lease: the inner hold outlives it"},
	{HazardUnlockAfterRefusal, "a client that was refused releases all the same: it removes the holder's lock"},
	{HazardHolderPauses, "a holder, or what renews its lock, stops for longer than the lease or session: the next client is let in"},
	{HazardOrphanWatchdog, "a release fails, and its client keeps the lease or the session alive all the same: the lock stays for ever"},
	{HazardFailover, "a replica that has not heard of a grant becomes the primary: it grants the lock again"},
	{HazardWaitOne, "a replica that has not heard of a grant becomes the primary, though another has acknowledged it: it grants the lock again"},
	{HazardRestartEmpty, "the server restarts without what it had in memory: it grants the lock again"},
	{HazardEviction, "the server is out of memory and evicts the key: it grants the lock again"},
	{HazardServerClock, "the clock of the server jumps ahead: the lease ends too early"},
	{HazardQuorumRestart, "one node of a bare majority restarts empty: another majority grants the lock again"},
	{HazardQuorumPause, "a client pauses between its count of the votes and its work: its majority has expired"},
	{HazardQuorumNodesGone, "a minority of the nodes is dead or hangs: nobody gets the lock"},
	{HazardAcquireReplyLost, "the client never hears that it has been granted the lock, and goes away: its lock stays for ever"},
	{HazardLateGrant, "the grant arrives when its lease is over: the client enters beside the next holder"},
	{HazardClientRetries, "the client library sends a request again whose reply was lost: it removes the next holder's lock, or the lock counts twice"},
	{HazardMissedWakeup, "a waiter does not hear of a release, which comes before it listens or when its connection is gone: it sleeps on a free lock"},
	{HazardSessionLost, "the service ends the session of a holder that it does not hear from: the next client is let in"},
	{HazardConnectionCut, "the connection of a holder breaks: the next client is let in"},
	{HazardFenceFailover, "a replica that has not heard of the last grants becomes the primary: it issues their fencing tokens again"},
	{HazardHalfOpen, "a holder vanishes, and what is between keeps its connection open: its lock stays for ever"},
	{HazardRenewalReacquires, "a renewal is late, in time or lost: its holder is told that it keeps the lock, which another client has had, or gets"},
	{HazardPooler, "a pooler lends the connection to others between transactions: the lock is theirs"},
	{HazardWaitForever, "the new primary has fewer replicas than have to acknowledge: it refuses for ever"},
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
	for _, known := range hazards {
		if known.hazard == h {
			return known.about
		}
	}
	return ""
}
