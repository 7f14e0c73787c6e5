package queue

import (
	"cmp"
	"math"
	"slices"
)

// Keys are the keys of a load, those with the same share of the arrivals together, the most wanted first.
type Keys []Group

// Group is a number of keys, each with the same share of all arrivals.
type Group struct {
	Share float64
	Count int
}

// A key beyond the first closeKeys joins one whose share is not more than closeShare times its own.
const (
	closeKeys  = 16
	closeShare = 1.15
)

// NewKeys groups the shares. Beyond the hottest ones it takes shares within 15 % for equal, and their mean for all: what
// is late comes from the hottest. A million keys of a Zipf distribution make about 100 groups.
func NewKeys(shares []float64) Keys {
	if !slices.IsSortedFunc(shares, func(a, b float64) int { return -cmp.Compare(a, b) }) {
		shares = slices.Clone(shares)
		slices.SortFunc(shares, func(a, b float64) int { return -cmp.Compare(a, b) })
	}
	var keys Keys
	first, sum, n := 0.0, 0.0, 0
	flush := func() {
		if n > 0 {
			keys = append(keys, Group{sum / float64(n), n})
		}
		sum, n = 0, 0
	}
	for _, s := range shares {
		if s <= 0 {
			break
		}
		near := closeShare
		if len(keys) < closeKeys {
			near = 1 + 1e-9
		}
		if n > 0 && first > s*near {
			flush()
		}
		if n == 0 {
			first = s
		}
		sum += s
		n++
	}
	flush()
	return keys
}

// Hottest returns the share of the most wanted key.
func (k Keys) Hottest() float64 {
	if len(k) == 0 {
		return 0
	}
	return k[0].Share
}

// Late returns the share of all arrivals that wait for longer than t, at rate arrivals a second over all keys.
func (k Keys) Late(tail Tail, rate, service, t float64) float64 {
	late, rest := 0.0, 1.0
	for _, g := range k {
		one := tail(rate*g.Share, service, t)
		if one*rest < 1e-4*late {
			break // colder keys have shorter queues
		}
		all := g.Share * float64(g.Count)
		late += all * one
		rest -= all
	}
	return late
}

// Rate returns the most arrivals a second over all keys for which no larger share than late waits for longer than t.
func Rate(tail Tail, keys Keys, service, t, late float64) float64 {
	if len(keys) == 0 || t < 0 || late <= 0 {
		return 0
	}
	if late >= 1 {
		return math.Inf(1)
	}
	low, high := 0.0, 0.0
	for high = Capacity(keys.Hottest(), service) / 2; keys.Late(tail, high, service, t) <= late; high *= 2 {
		low = high
	}
	for range 60 {
		mid := (low + high) / 2
		if mid <= low || mid >= high {
			break
		}
		if keys.Late(tail, mid, service, t) <= late {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
