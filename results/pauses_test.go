package results

import (
	"testing"
	"time"
)

// TestViolationsByPauses: a pause of 1.5 s from 1.2 s on explains what leases of 500 ms do in it, and until one later.
func TestViolationsByPauses(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		at     []time.Duration
		change func(r *Record)
		want   int
	}{
		"none":                    {at: []time.Duration{1300 * ms}, change: func(r *Record) { r.Generator.Pauses = nil }},
		"at its ends":             {at: []time.Duration{1200 * ms, 3200 * ms}, want: 2},
		"one of three":            {at: []time.Duration{1199 * ms, 2000 * ms, 3201 * ms}, want: 1},
		"a lease that is longer":  {at: []time.Duration{2000 * ms}, change: func(r *Record) { r.Plan.TTL = time.Minute }},
		"a lock without a lease":  {at: []time.Duration{2000 * ms}, change: func(r *Record) { r.Traits.Expires = false }},
		"a session":               {at: []time.Duration{2000 * ms}, change: func(r *Record) { r.Traits = Traits{Session: true} }, want: 1},
		"too short for the lease": {at: []time.Duration{1300 * ms}, change: func(r *Record) { r.Generator.Pauses[0].Length = 249 * ms }},
		"that of another rank": {at: []time.Duration{9500 * ms}, want: 1, change: func(r *Record) {
			r.Ranks = make([]Rank, 2)
			r.Ranks[1].Generator.Pauses = []Pause{{At: 9000 * ms, Length: time.Second}}
		}},
	} {
		r := &Record{Traits: Traits{Expires: true}}
		r.Plan.TTL = 500 * ms
		r.Generator.Pauses = []Pause{{At: 1200 * ms, Length: 1500 * ms}}
		for _, at := range c.at {
			r.Safety.Events = append(r.Safety.Events, Violation{At: at})
		}
		if c.change != nil {
			c.change(r)
		}
		if got := r.ViolationsByPauses(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
