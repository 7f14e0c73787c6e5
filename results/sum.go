package results

// The rules by which the trials of a cell become one figure each.

import (
	"fmt"
	"reflect"
	"slices"
	"time"
)

// median returns the middle value, or the mean of the two in the middle; 0 of none. It sorts vs.
func median(vs []float64) float64 {
	if len(vs) == 0 {
		return 0
	}
	slices.Sort(vs)
	mid := len(vs) / 2
	if len(vs)%2 == 1 {
		return vs[mid]
	}
	return vs[mid-1] + (vs[mid]-vs[mid-1])/2
}

func valuesOf(trials []*Record, value func(*Record) float64) []float64 {
	vs := make([]float64, len(trials))
	for i, r := range trials {
		vs[i] = value(r)
	}
	return vs
}

// medianOf returns the median over the trials that know the value, and unknown if none does; a duration comes out in whole
// nanoseconds.
func medianOf[T float64 | time.Duration](trials []*Record, unknown T, value func(*Record) (v T, known bool)) T {
	var known []float64
	for _, r := range trials {
		if v, is := value(r); is {
			known = append(known, float64(v))
		}
	}
	if len(known) == 0 {
		return unknown
	}
	return T(median(known))
}

// ifNotZero is a value for which 0 means not known, and ifNotNegative one for which a negative number does.
func ifNotZero[T float64 | time.Duration](of func(*Record) T) func(*Record) (T, bool) {
	return func(r *Record) (T, bool) { v := of(r); return v, v > 0 }
}

func ifNotNegative[T float64 | time.Duration](of func(*Record) T) func(*Record) (T, bool) {
	return func(r *Record) (T, bool) { v := of(r); return v, v >= 0 }
}

// sumOf returns the sum over the trials.
func sumOf[T int64 | time.Duration](trials []*Record, value func(*Record) T) (sum T) {
	for _, r := range trials {
		sum += value(r)
	}
	return sum
}

// sumClasses adds up class by class; the distributions have been merged. All trials of a cell have the same plan, and so
// the same classes; records in which some are missing add what they have.
func sumClasses(trials []*Record, merged []sums) (classes []ClassCell) {
	for i := range trials[0].Classes {
		sum := ClassCell{ClassResult: ClassResult{Name: trials[0].Classes[i].Name}}
		var rates, jains []float64
		for _, r := range trials {
			if i >= len(r.Classes) {
				continue
			}
			c := r.Classes[i]
			sum.Counts.add(c.Counts)
			sum.Starved = max(sum.Starved, c.Starved)
			sum.Clients += c.Clients
			if enoughGrants(c.Counts.Acquired, c.Clients) {
				jains = append(jains, c.Jain)
			}
			if r.Elapsed > 0 {
				rates = append(rates, float64(c.Counts.Acquired)/r.Elapsed.Seconds())
			}
		}
		if len(rates) > 0 {
			sum.Rate = Spread{median(rates), slices.Min(rates), slices.Max(rates)}
		}
		sum.Jain = median(jains)
		if i < len(merged) {
			sum.Latency = merged[i].latencies()
		}
		classes = append(classes, sum)
	}
	return classes
}

// add adds the outcomes of another trial; the first sample of an error stays.
func (c *Counts) add(o Counts) {
	sum, more := reflect.ValueOf(c).Elem(), reflect.ValueOf(o)
	for i := range sum.NumField() {
		if n := sum.Field(i); n.CanInt() {
			n.SetInt(n.Int() + more.Field(i).Int())
		}
	}
	if more := len(o.NodeErrors) - len(c.NodeErrors); more > 0 {
		c.NodeErrors = append(slices.Clip(c.NodeErrors), make([]int64, more)...)
	}
	for i, n := range o.NodeErrors {
		c.NodeErrors[i] += n
	}
	addByClass(&c.Errors, o.Errors)
	addByClass(&c.EarlyErrors, o.EarlyErrors)
	for class, text := range o.ErrorSample {
		if c.ErrorSample == nil {
			c.ErrorSample = map[string]string{}
		}
		if _, have := c.ErrorSample[class]; !have {
			c.ErrorSample[class] = text
		}
	}
}

func addByClass(sum *map[string]int64, of map[string]int64) {
	for class, n := range of {
		if *sum == nil {
			*sum = map[string]int64{}
		}
		(*sum)[class] += n
	}
}

func sumFairness(trials []*Record) Fairness {
	sum := trials[0].Fairness
	for _, r := range trials[1:] {
		f := r.Fairness
		sum.Clients = max(sum.Clients, f.Clients)
		sum.MinClient = min(sum.MinClient, f.MinClient)
		sum.MaxClient = max(sum.MaxClient, f.MaxClient)
		sum.Starved = max(sum.Starved, f.Starved)
		sum.LongestWait = max(sum.LongestWait, f.LongestWait)
		sum.LongestRun = max(sum.LongestRun, f.LongestRun)
		sum.OwnerChanges += f.OwnerChanges
	}
	sum.Jain = medianOf(trials, sum.Jain, func(r *Record) (float64, bool) {
		return r.Fairness.Jain, enoughGrants(r.Counts.Acquired, r.wanting())
	})
	return sum
}

// medianCost leaves out, amount by amount, the trials that do not know it.
func medianCost(trials []*Record) (sum Cost) {
	for i, amount := range sum.amounts() {
		*amount = medianOf(trials, -1, ifNotNegative(func(r *Record) float64 {
			c := r.Cost
			if !c.Trafficked() {
				c.RoundTrips, c.Notices, c.KeepAlives = -1, -1, -1
			}
			return *c.amounts()[i]
		}))
	}
	return sum
}

// medianBound sets what a round trip took under the load against what it took before it: a trial in which it was no sooner says
// the same of both.
func medianBound(trials []*Record) Bound {
	bounded := func(of func(*Record) float64) func(*Record) (float64, bool) {
		return func(r *Record) (float64, bool) { return of(r), r.Bound.LocksPerS > 0 }
	}
	sum := Bound{
		RTT:        medianOf(trials, 0, ifNotZero(func(r *Record) time.Duration { return r.Bound.RTT })),
		LoadRTT:    medianOf(trials, 0, ifNotZero(func(r *Record) time.Duration { return r.Bound.RoundTrip() })),
		LocksPerS:  medianOf(trials, 0, bounded(func(r *Record) float64 { return r.Bound.LocksPerS })),
		Efficiency: medianOf(trials, 0, bounded(func(r *Record) float64 { return r.Bound.Efficiency })),
		Little:     medianOf(trials, 0, ifNotZero(func(r *Record) float64 { return r.Bound.Little })),
		InSystem:   medianOf(trials, 0, ifNotZero(func(r *Record) float64 { return r.Bound.InSystem })),
		LittleOpen: medianOf(trials, 0, ifNotZero(func(r *Record) float64 { return r.Bound.LittleOpen })),
		Waited:     sumOf(trials, func(r *Record) time.Duration { return r.Bound.Waited }),
		Blocked:    sumOf(trials, func(r *Record) time.Duration { return r.Bound.Blocked }),
		By:         trials[0].Bound.By,
		Pool:       trials[0].Bound.Pool,
	}
	if sum.LoadRTT >= sum.RTT && sum.RTT > 0 {
		sum.LoadRTT = 0
	}
	return sum
}

func sumGenerator(trials []*Record) Generator {
	sum := Generator{
		CPU:       medianOf(trials, -1, ifNotNegative(func(r *Record) float64 { return r.Generator.CPU })),
		Machine:   medianOf(trials, -1, ifNotNegative(func(r *Record) float64 { return r.Generator.Machine })),
		GCPauses:  medianOf(trials, 0, ifNotNegative(func(r *Record) time.Duration { return r.Generator.GCPauses })),
		RunQueue:  medianOf(trials, 0, ifNotZero(func(r *Record) time.Duration { return r.Generator.RunQueue })),
		Throttled: medianOf(trials, -1, ifNotNegative(func(r *Record) time.Duration { return r.Generator.Throttled })),
		PerWrite:  medianOf(trials, 0, ifNotZero(func(r *Record) float64 { return r.Generator.PerWrite })),
		CoreWait:  medianOf(trials, -1, ifNotNegative(func(r *Record) time.Duration { return r.Generator.CoreWait })),
	}
	sum.Quota = trials[0].Generator.Quota
	for _, r := range trials {
		sum.Memory = max(sum.Memory, r.Generator.Memory)
		sum.Paused = max(sum.Paused, r.Generator.Paused)
		sum.Pauses = append(sum.Pauses, r.Generator.Pauses...)
		sum.GCLongest = max(sum.GCLongest, r.Generator.GCLongest)
		if r.Generator.Saturated && !sum.Saturated {
			sum.Saturated, sum.Why = true, r.Generator.Why
		}
	}
	return sum
}

func medianThread(trials []*Record) Thread {
	part := func(of func(Thread) float64) float64 {
		return medianOf(trials, 0, func(r *Record) (float64, bool) { return of(r.Thread), r.Thread.Busy() > 0 })
	}
	return Thread{Ran: part(func(t Thread) float64 { return t.Ran }), Waited: part(func(t Thread) float64 { return t.Waited })}
}

// Merging: the distributions of several trials become one.

// sums are the distributions of a cell or a class, to which trials still come.
type sums map[Metric]*sum

// sum is a distribution of several trials together.
type sum struct {
	Latency // while there is one trial, as that recorded it; then count and overflow of all

	// It takes longer to add to what a hundred trials have filled, as counts, than a trial takes to decode. So what is long
	// has two bytes a slot, and what they cannot hold is in high.
	low  []uint16
	high map[int]int64
}

// long is a quarter of what two bytes a slot take at most.
const long = slotCount / 2

// add adds the distributions of a trial, which somebody has decoded.
func (ss sums) add(more map[Metric]Latency, decoded map[Metric]counts) {
	for m, l := range more {
		if ss[m] == nil {
			ss[m] = new(sum)
		}
		ss[m].add(l, decoded[m])
	}
}

func (s *sum) add(l Latency, c counts) {
	switch {
	case s.Count == 0:
		s.Latency, s.merged = l, ""
		return
	case l.Count == 0:
		return
	case s.low != nil:
		c.each(s.count)
	default:
		earlier, _ := s.decode() // it has been decoded before
		if s.merged = ""; len(earlier)+len(c) > long {
			earlier.each(s.count)
			c.each(s.count)
		} else {
			s.merged = together(func(add func(int, int64)) {
				earlier.each(add)
				c.each(add)
			})
		}
	}
	s.Latency = Latency{Count: s.Count + l.Count, Overflow: s.Overflow + l.Overflow, merged: s.merged}
}

// count adds n to a slot.
func (s *sum) count(slot int, n int64) {
	if slot >= len(s.low) {
		longer := make([]uint16, (slot>>halfBits+1)<<halfBits)
		copy(longer, s.low)
		s.low = longer
	}
	if n += int64(s.low[slot]); n < 1<<16 {
		s.low[slot] = uint16(n)
		return
	}
	s.low[slot] = 0
	if s.high == nil {
		s.high = map[int]int64{}
	}
	s.high[slot] += n
}

func (s *sum) counts() counts {
	if s.low == nil {
		return s.merged
	}
	return together(func(add func(int, int64)) {
		for slot, n := range s.low {
			if n > 0 {
				add(slot, int64(n))
			}
		}
		for slot, n := range s.high {
			add(slot, n)
		}
	})
}

// latencies returns the distributions with their quantiles, which are calculated in the end, for that takes longer than adding.
func (ss sums) latencies() map[Metric]Latency {
	all := make(map[Metric]Latency, len(ss))
	for m, s := range ss {
		l := s.Latency
		if c := s.counts(); c != "" {
			l = quantilesOf(c.histogram(), s.Overflow)
			l.merged = c
		}
		all[m] = l
	}
	return all
}

// decodeAll decodes distributions; the error begins with the metric.
func decodeAll(all map[Metric]Latency) (map[Metric]counts, error) {
	decoded := make(map[Metric]counts, len(all))
	for m, l := range all {
		c, err := l.decode()
		if err != nil {
			return nil, fmt.Errorf("%s.hdr: %w", m, err)
		}
		decoded[m] = c
	}
	return decoded, nil
}

// decodeEach decodes the distributions that can be, for others who need them.
func decodeEach(all map[Metric]Latency) {
	for m, l := range all {
		l.merged, _ = l.decode()
		all[m] = l
	}
}
