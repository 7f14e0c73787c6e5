package catalog

import (
	"strings"

	"github.com/lockbench/lockbench/drivers"
)

// Claim is something that a design may claim.
type Claim struct {
	Name, Means string
	Has         func(drivers.Traits) bool
}

// Claimed are all claims.
var Claimed = []Claim{
	{"exclusive", "one client at a time, as long as each hold ends within its lease or session", func(t drivers.Traits) bool { return t.Exclusive }},
	{"owned", "only the holder can release it: a late release changes nothing", func(t drivers.Traits) bool { return t.Owned }},
	{"expires", "a hold ends by itself -ttl after its grant or renewal", func(t drivers.Traits) bool { return t.Expires }},
	{"session", "a hold ends with its holder's session: -ttl after the service last heard of it, or, in a database, when its connection breaks", func(t drivers.Traits) bool { return t.Session }},
	{"fenced", "each grant has a token that grows, which a resource can check", func(t drivers.Traits) bool { return t.Fenced }},
	{"fair", "waiters are served in the order of their arrival", func(t drivers.Traits) bool { return t.Fair }},
	{"reentrant", "the holder may acquire it again (-reentry)", func(t drivers.Traits) bool { return t.Reentrant }},
	{"renews", "a lease can be renewed (-renew)", func(t drivers.Traits) bool { return t.Renews }},
	{"wakes", "a release can wake waiters (-wait pubsub, queue)", func(t drivers.Traits) bool { return t.Wakes }},
	{"blocks", "a client can sleep on the server (-wait block)", func(t drivers.Traits) bool { return t.Blocks }},
	{"waits", "it has a way of waiting of its own (-wait native)", func(t drivers.Traits) bool { return t.Waits }},
}

// Claims lists the traits that a design has.
func Claims(t drivers.Traits) string {
	var names []string
	for _, c := range Claimed {
		if c.Has(t) {
			names = append(names, c.Name)
		}
	}
	if names == nil {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
