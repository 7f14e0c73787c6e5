package spec

import "slices"

// Share is the part of a load that one of several processes has, its rank being from 0. The zero value is the whole
// load.
type Share struct{ Rank, Ranks int }

// ShareOf returns the share of a rank in p.
func ShareOf(p *Plan, rank int) Share { return Share{rank, max(1, p.Processes)} }

// Whole reports whether there are no others.
func (s Share) Whole() bool { return s.Ranks <= 1 }

// Range returns which of n things are the share's, from low to below high. Those of all ranks are all n.
func (s Share) Range(n int) (low, high int) {
	ranks := max(1, s.Ranks)
	return n * s.Rank / ranks, n * (s.Rank + 1) / ranks
}

// Of returns how many of n things are the share's.
func (s Share) Of(n int) int {
	low, high := s.Range(n)
	return high - low
}

// Plan returns what a process with that share opens its service for: p with its clients alone.
func (s Share) Plan(p Plan) Plan {
	if s.Whole() {
		return p
	}
	p.Clients, p.Processes, p.Classes = s.Of(p.Clients), 0, slices.Clone(p.Classes)
	if len(p.Classes) > 0 {
		p.Clients = 0
	}
	for i := range p.Classes {
		c := &p.Classes[i]
		c.Clients = s.Of(c.Clients)
		p.Clients += c.Clients
	}
	return p
}
