package catalog

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/lockbench/lockbench/drivers"
)

// Claim is something that a design may claim. Its name is that of a field of drivers.Traits.
type Claim struct{ Name, Means string }

// Claimed are all claims.
var Claimed = []Claim{
	{"exclusive", "one client at a time, as long as each hold ends within its lease or session"},
	{"owned", "only the holder can release it: a late release changes nothing"},
	{"expires", "a hold ends by itself -ttl after its grant or renewal"},
	{"session", "a hold ends with its holder's session: -ttl after the service last heard of it, or, in a database, " +
		"when its connection breaks"},
	{"fenced", "each grant has a token that grows, which a resource can check"},
	{"fair", "waiters are served in the order of their arrival"},
	{"reentrant", "the holder may acquire it again (-reentry)"},
	{"renews", "a lease can be renewed (-renew)"},
	{"wakes", "a release can wake waiters (-wait pubsub, queue)"},
	{"blocks", "a client can sleep on the server (-wait block)"},
	{"waits", "it has a way of waiting of its own (-wait native)"},
}

// Has reports whether a design with these traits makes the claim.
func (c Claim) Has(t drivers.Traits) bool {
	return reflect.ValueOf(t).FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, c.Name) }).Bool()
}

// Claims lists what a design claims.
func Claims(t drivers.Traits) string {
	var names []string
	for _, c := range Claimed {
		if c.Has(t) {
			names = append(names, c.Name)
		}
	}
	return cmp.Or(strings.Join(names, ", "), "nothing")
}
