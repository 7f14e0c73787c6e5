package report

// What the words mean: the one place that says it. Help prints them, and pages show them beside the words.

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/view"
)

var watched, _ = metric.Named("watched")

// Term is a word and what it means, as a clause.
type Term struct{ Name, Means string }

// Glossary has the words of runs, tables and help in alphabetical order; those apart that name a claim, a mark, a metric or a hazard,
// whose own tables say what they mean. A few of them are here too, by what those tables say.
var Glossary = []Term{
	{"acquire", "the time from the start of an acquisition to its grant; waits that ended without a grant are in no acquire"},
	{"arrival", "a request for a lock in an open loop, which comes when it is due"},
	{"bound", "an estimate of the most that any lock could reach: a key needs at least a hold and a round trip per grant, a client " +
		"at least a hold, its think time and two round trips. The round trip is that of pings before the load, or of fast releases " +
		"under it if those were faster. Of violations, how rare they must be"},
	{"cell", "one combination of settings, measured by a trial or more: a row of the table"},
	{"claims", "what a design promises; each claim is tested both ways"},
	{"closed loop", "each client waits for its lock before it asks for the next, so a slow lock gets fewer requests and its " +
		"latencies look better than in production; -rate makes an open loop"},
	{"control", "a lock that a proof tests beside those that were asked for: one that must fail, or one that must not"},
	{"design", "how a lock is made of what its service can do: the value of -lock"},
	{"exactly once", "what no lock alone ensures: the work of a holder may outlive its lease, and one that fails half-way is repeated"},
	{"fail-over", "a replica takes the place of a server that is gone; grants of which it had not heard are lost"},
	{"fence", "a fencing token, a number that grows with each grant: by it a store can reject a holder that comes too late"},
	{"GC pause", "a process stands still, for garbage collection, on a busy machine or while it is suspended; its lease may end " +
		"meanwhile, and it goes on unaware"},
	{"generator", "lockbench and its machine, which make the load: whether they were the limit. A ticker shows pauses of lockbench"},
	{"grant", "the answer that makes a client the holder of a lock"},
	{"hand-off", "the time from a release to the next grant of that key, if the next client was already waiting at the release"},
	{"hazard", "something that happens to a lock, and by which some designs fail"},
	{"head-room", "the lower end of what a lock sustains, over the rate that is asked for: at 1.00 nothing is to spare"},
	{"herd", "many waiters that one release wakes, of which one gets the lock"},
	{"hold", "the time from a grant to its release, exact to a few microseconds on Linux as long as a processor is free; a warning " +
		"says if it is off by more than 10 %"},
	{"inconclusive", "neither passed nor failed: too little was measured, or lockbench or its machine was the limit (exit code 5)"},
	{"Jain", "Jain's index of fairness: 1 if all clients got the same number of locks, 1/n if one got them all, unknown below five " +
		"locks a client. An unfair lock has high throughput: look at both, and at the longest wait"},
	{"lag", "how late lockbench began an arrival although a client was free; it is part of the response"},
	{"late", "of arrivals, those whose response is above the objective, or that had no answer"},
	{"lease", "a hold that ends by itself when its TTL (time to live, -ttl) is over, even if its holder is still at work"},
	{"limited by", "what kept the throughput from being higher"},
	{"Little's law", "the clients in a system are as many as come in the time that each stays; figures that differ from it contradict each other"},
	{"native", "a way of waiting (-wait): the lock's own. Its server or library keeps the waiters in line, or wakes them"},
	{"on paper", "what follows from the load alone, before a server is asked: holds of a key cannot overlap, and its queue may not grow too long"},
	{"open loop", "arrivals come when they are due (-rate, -burst), whether or not a client is free, as in production"},
	{"oracle", "what checks mutual exclusion at every grant, beside the lock and without using it"},
	{"owner changes", "how often a key moved to another client"},
	{"p99", "the value that 99 % do not exceed, by the nearest rank: of 500 values in order p99 is the 495th, and p99.9 the 500th, " +
		"rounded up to three digits, as in all tools of HdrHistogram"},
	{"per lock", "what a granted lock costs: requests, commands on the server (those in scripts too), bytes, CPU time on both sides; " +
		"the server's own figures have in them what other clients ask of it meanwhile"},
	{"pilot", "the first trials of a plan, at the rate that is asked for and near what is possible on paper"},
	{"quorum", "a majority of several servers, which has to grant a lock together, as in Redlock"},
	{"recovery", metric.Latency(results.Recovery).About},
	{"refused", "of a try, that the key was taken; who tries only once goes without the lock then"},
	{"response", "the time from when an arrival was due to its grant, so that it has the wait for a free client in it"},
	{"risk", "what can go wrong with a design, the main thing first"},
	{"saturated", view.Meaning("saturated")},
	{"starved", view.Meaning("starved")},
	{"steady", "the second half of the window was as fast as the first, as far as chance allows; if it was not, the run drifts, and a " +
		"longer -warmup may help"},
	{"stuck", "of a lock in a proof: it did not come free in two leases (-ttl) or more; its server may free it later, after hours"},
	{"sustains", "the highest rate at which a lock keeps the objective, with its 95 % interval"},
	{"token", "see fence"},
	{"violation", "a grant of a key that another client still held"},
	{"watchdog", "what renews a lease while its holder is at work (-renew)"},
	{"watched", watched.About},
}

// Meaning returns what a word of the glossary means; empty if it has none of that name.
func Meaning(name string) string {
	i := slices.IndexFunc(Glossary, func(t Term) bool { return strings.EqualFold(t.Name, name) })
	if i < 0 {
		return ""
	}
	return Glossary[i].Means
}
