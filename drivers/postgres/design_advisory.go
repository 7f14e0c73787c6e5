package postgres

// Session-level advisory locks: pg_try_advisory_lock, pg_advisory_lock, pg_advisory_unlock. They exist only in the
// server's memory, so a grant costs no write. The server identifies them by 64 bits, not by name; see keyOf.
//
// Waiters are in the server's queue, first come, first served; Try gets no place in it.

import (
	"strconv"

	"github.com/lockbench/lockbench/drivers"
)

var advisoryDesign = design{
	Design: drivers.Design{
		Name:   "advisory",
		Traits: drivers.Traits{Exclusive: true, Owned: true, Fair: true, Reentrant: true, Waits: true, Session: true},
		Models: "pg_try_advisory_lock / pg_advisory_lock and pg_advisory_unlock on a pinned connection, as in Rails, " +
			"Flyway and golang-migrate",
		Wrong: "a broken connection frees the lock under its holder: no fence; the name is a 64 bit hash, shared with all " +
			"others who use advisory locks in the database; no pooler in transaction mode",
		Loses: []drivers.Hazard{
			drivers.HazardConnectionCut, drivers.HazardHalfOpen, drivers.HazardMissedWakeup, drivers.HazardPooler,
			drivers.HazardRestartEmpty, drivers.HazardFailover,
		},
	},
	shares: true,
	statements: func(string) map[string]string {
		const unlock = "SELECT pg_advisory_unlock($1::int8)"
		return map[string]string{
			"limit":   "SELECT set_config('lock_timeout', $1::text, true)", // for this packet, which is a transaction
			"try":     "SELECT pg_try_advisory_lock($1::int8)",
			"lock":    "SELECT true FROM pg_advisory_lock($1::int8)",
			"release": unlock,
			"undo":    unlock, // it does not go with a statement that fails
		}
	},
	param:    func(dst []byte, key string) []byte { return strconv.AppendInt(dst, keyOf(key), 10) },
	persists: func(bool, bool) string { return "none" },
}

// keyOf returns the server's key for a name: 64 bit FNV-1a. Two of n names have the same key with a probability of
// n²/2⁶⁵: one in 37 million for a million names. Two such locks exclude each other.
func keyOf(name string) int64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return int64(h)
}
