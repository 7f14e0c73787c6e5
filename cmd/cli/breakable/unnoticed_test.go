package breakable_test

// Defects that no hazard notices, and why.

import (
	"slices"

	"github.com/lockbench/lockbench/drivers/redis"
)

// unnoticed is a defect that survives the hazard of its name, which is the nearest to it, and for which no other one is known.
type unnoticed struct {
	defect
	why string
}

var allUnnoticed = []unnoticed{
	// Redis.
	{defect{"renewal-reacquires", "renews by taking the lease away", script("'PEXPIRE', KEYS[1], ARGV[2]", "'PERSIST', KEYS[1]"), []string{"rueidis set-nx"}, ""},
		"nobody dies after a renewal"},
	{defect{"waiter-gone", "hands over to the last in line", script("redis.call('LPOP', KEYS[2])", "redis.call('RPOP', KEYS[2])"), []string{"rueidis fair"}, ""},
		"order is no promise of a story; conformance sees it"},
	{defect{"waiter-gone", "keeps the places of the dead", script("tonumber(kept) > at", "true"), []string{"go-redis fair"}, ""},
		"the place of a dead waiter is kept for longer than a story lasts, even when it is not for ever"},
	{defect{"failover", "does not look at how many replicas have acknowledged it", inConn(func(c redis.Conn) redis.Conn { return acknowledged{c} }), []string{"rueidis@replicated set-nx"}, ""},
		"one of the replicas has heard of each grant, and takes over"},

	// A majority of nodes.
	{defect{"quorum-nodes-gone", "keeps its votes when others have the majority", inRedlock(func(r *redlock) { r.stays = true }), onFive, ""},
		"what it keeps ends with its lease: that costs time, and no lock"},

	// Databases.
	{defect{"overrun", "takes an error of GET_LOCK for a grant", onWire(`SELECT GET_LOCK\((.*), 0\)`, "SELECT IFNULL(GET_LOCK($1, 0), 1)"), []string{"mysql get-lock"}, ""},
		"the server answers NULL only to a client that is killed while it waits"},
	{defect{"overrun", "has few keys for many names", onWire(`(_lock|_unlock)\(\$1::int8\)`, "$1(1 + ($$1::int8 & 7))"), []string{"postgres advisory"}, ""},
		"a story has one key"},
}

// allDefects returns the defects, those that hazards notice first.
func allDefects() []defect {
	all := slices.Clone(defects)
	for _, u := range allUnnoticed {
		all = append(all, u.defect)
	}
	return all
}
