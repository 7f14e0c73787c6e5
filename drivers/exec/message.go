package exec

// The lines of the protocol.

import (
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

// Append implements lines.Appender.
func (r *request) Append(b []byte) ([]byte, bool) {
	b = lines.AppendInt(r.Begin(b), "session", int64(r.Session))
	b = lines.AppendInt(b, "lease", int64(r.Lease))
	b = lines.AppendText(b, "key", r.Key)
	b = lines.AppendText(b, "owner", r.Owner)
	b = lines.AppendInt(b, "ttl_ns", int64(r.TTL))
	b = lines.AppendInt(b, "every_ns", int64(r.Every))
	return append(b, '}'), true
}

func (r *request) set(name []byte, v lines.Value) (ok bool) {
	var n uint64
	switch string(name) {
	case "session":
		n, ok = v.Uint()
		r.Session = int(n)
	case "lease":
		n, ok = v.Uint()
		r.Lease = int(n)
	case "key":
		r.Key, ok = v.Text()
	case "owner":
		r.Owner, ok = v.Text()
	case "ttl_ns":
		n, ok = v.Uint()
		r.TTL = time.Duration(n)
	case "every_ns":
		n, ok = v.Uint()
		r.Every = time.Duration(n)
	default:
		return r.RequestHeader.Set(name, v)
	}
	return ok
}

func decodeRequest(text []byte) (*request, error) {
	if r := new(request); lines.Flat(text, r.set) {
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

// line is an answer or an event.
type line struct {
	lines.LineHeader

	Hello  *hello        `json:"hello,omitempty"`
	Traits *claims       `json:"traits,omitempty"`   // of open
	Held   *bool         `json:"held,omitempty"`     // of try and wait
	Owner  string        `json:"owner,omitempty"`    // of try and wait
	Valid  time.Duration `json:"valid_ns,omitempty"` // of try, wait and renew
	Owned  *bool         `json:"owned,omitempty"`    // of release, renew and renewed

	Lease int           `json:"lease,omitempty"` // of events
	Fence uint64        `json:"fence,omitempty"` // of try, wait and write
	Count uint64        `json:"count,omitempty"`
	Begun time.Duration `json:"sent_ns,omitempty"` // of renewed: when it was sent, by the same clock as At
	Gap   time.Duration `json:"gap_ns,omitempty"`
}

// Append implements lines.Appender for the answers that are often written.
func (l *line) Append(b []byte) ([]byte, bool) {
	if l.Error != nil || l.Event != "" || l.Hello != nil || l.Traits != nil || l.Valid < 0 || l.Fence >= 1e18 {
		return b, false
	}
	b = lines.AppendBool(l.Begin(b), "held", l.Held)
	b = lines.AppendText(b, "owner", l.Owner)
	b = lines.AppendInt(b, "valid_ns", int64(l.Valid))
	b = lines.AppendBool(b, "owned", l.Owned)
	b = lines.AppendInt(b, "fence", int64(l.Fence))
	return append(b, '}'), true
}

var yes, no = true, false

func (l *line) set(name []byte, v lines.Value) (ok bool) {
	var n uint64
	switch string(name) {
	case "held":
		l.Held, ok = decision(v)
	case "owned":
		l.Owned, ok = decision(v)
	case "owner":
		l.Owner, ok = v.Text()
	case "valid_ns":
		n, ok = v.Uint()
		l.Valid = time.Duration(n)
	case "fence":
		l.Fence, ok = v.Uint()
	default:
		return l.LineHeader.Set(name, v)
	}
	return ok
}

// decision returns a pointer, which costs no allocation.
func decision(v lines.Value) (*bool, bool) {
	is, ok := v.Bool()
	if is {
		return &yes, ok
	}
	return &no, ok
}

func decodeLine(text []byte) (*line, error) {
	if l := new(line); lines.Flat(text, l.set) {
		return l, nil
	}
	return lines.Decode[line](text)
}
