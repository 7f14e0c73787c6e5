package exec

// The lines of the protocol.

import (
	"reflect"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
)

type helloRequest struct {
	lines.RequestHeader
	Versions []int `json:"versions"`
}

type openRequest struct {
	lines.RequestHeader
	Driver   string `json:"driver,omitempty"` // of a worker, which has them all
	Password string `json:"password,omitempty"`
	settings
}

// request is any other one.
type request struct {
	lines.RequestHeader
	Session int           `json:"session,omitempty"`
	Lease   int           `json:"lease,omitempty"`
	Key     string        `json:"key,omitempty"`
	Owner   string        `json:"owner,omitempty"`
	TTL     time.Duration `json:"ttl_ns,omitempty"`
	Every   time.Duration `json:"every_ns,omitempty"`
}

func (r *request) fields() [9]lines.Field {
	return [...]lines.Field{
		lines.At("id", &r.ID), lines.At("op", &r.Op), lines.At("timeout_ns", &r.Timeout), lines.At("session", &r.Session),
		lines.At("lease", &r.Lease), lines.At("key", &r.Key), lines.At("owner", &r.Owner), lines.At("ttl_ns", &r.TTL), lines.At("every_ns", &r.Every),
	}
}

// Append implements lines.Appender.
func (r *request) Append(b []byte) ([]byte, bool) {
	fields := r.fields()
	return lines.Append(b, fields[:]), true
}

func decodeRequest(text []byte) (*request, error) {
	r := new(request)
	if fields := r.fields(); lines.Flat(text, fields[:], false) {
		return r, nil
	}
	return lines.Decode[request](text)
}

// hello is what an adapter says about itself.
type hello struct {
	Version    int                `json:"version"`
	Library    library            `json:"library,omitzero"`
	Service    string             `json:"service,omitempty"`
	Keys       string             `json:"keys,omitempty"` // what they are called on the server, with * for the request's
	Topologies []drivers.Topology `json:"topologies,omitempty"`
	Designs    []design           `json:"designs,omitempty"`
	Params     []param            `json:"params,omitempty"`
}

type library struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type design struct {
	Name   string           `json:"name"`
	Traits claims           `json:"traits"`
	Models string           `json:"models,omitempty"`
	Wrong  string           `json:"wrong,omitempty"`
	Loses  []drivers.Hazard `json:"loses,omitempty"`
}

type param struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Text    string `json:"text"`
}

// claims are the traits of a lock, and what its sessions can do besides.
type claims struct {
	drivers.Traits
	TakesOwner bool `json:"takes_owner,omitempty"` // a try has its owner, which so is known whatever becomes of the answer
	Crashes    bool `json:"crashes,omitempty"`     // a session can end as if its process had died
}

// UnmarshalJSON lists the traits that there are, for an author who has mistyped one.
func (c *claims) UnmarshalJSON(text []byte) error {
	type plain claims // without this method
	p, err := lines.Decode[plain](text)
	if *c = claims(*p); err == nil {
		return nil
	}
	var known []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[claims]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			known = append(known, name)
		}
	}
	return lines.Refuse("traits", "%v; there are %s", err, strings.Join(known, ", "))
}

// line is an answer or an event.
type line struct {
	lines.LineHeader

	Hello  *hello        `json:"hello,omitempty"`
	Traits *claims       `json:"traits,omitempty"`   // of open
	Held   *bool         `json:"held,omitempty"`     // of try and wait
	Owner  string        `json:"owner,omitempty"`    // of try and wait
	Valid  time.Duration `json:"valid_ns,omitempty"` // of try, wait and renew
	Owned  *bool         `json:"owned,omitempty"`    // of release and renew
	Fence  uint64        `json:"fence,omitempty"`    // of try, wait and write
	Tries  int           `json:"tries,omitempty"`    // of wait: attempts that it has made
	GaveUp *bool         `json:"gave_up,omitempty"`  // of wait: the library has ended it

	Session int           `json:"session,omitempty"` // of a refusal
	Count   uint64        `json:"count,omitempty"`   // of a worker's events
	Gap     time.Duration `json:"gap_ns,omitempty"`
}

func (l *line) fields() [9]lines.Field { // of the answers that are often written
	return [...]lines.Field{
		lines.At("id", &l.ID), lines.At("at_ns", &l.At), lines.At("held", &l.Held), lines.At("owner", &l.Owner),
		lines.At("valid_ns", &l.Valid), lines.At("owned", &l.Owned), lines.At("fence", &l.Fence),
		lines.At("tries", &l.Tries), lines.At("gave_up", &l.GaveUp),
	}
}

// Append implements lines.Appender.
func (l *line) Append(b []byte) ([]byte, bool) {
	if l.Error != nil || l.Event != "" || l.Hello != nil || l.Traits != nil {
		return b, false
	}
	fields := l.fields()
	return lines.Append(b, fields[:]), true
}

func decodeLine(text []byte) (*line, error) {
	l := new(line)
	if fields := l.fields(); lines.Flat(text, fields[:], false) {
		return l, nil
	}
	return lines.Decode[line](text)
}
