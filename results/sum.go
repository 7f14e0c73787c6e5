package results

// The rules by which the trials of a cell become one figure each.

import (
	"cmp"
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

// overTrials returns what a part of each trial says of all of them, field by field by the rule in the field's tag, or else by that
// of the struct: the sum, the most (max) or the least (min) of them, or the first one; or the median of those that are known,
// which are not negative (known: -1 if there is none) or above 0 (positive: 0 if there is none).
func overTrials[T any](trials []*Record, rule string, of func(*Record) T) (all T) {
	parts := make([]reflect.Value, len(trials))
	for i, r := range trials {
		parts[i] = reflect.ValueOf(of(r))
	}
	number := func(v reflect.Value) float64 {
		if v.CanInt() {
			return float64(v.Int())
		}
		return v.Float()
	}
	for i, sum := range reflect.ValueOf(&all).Elem().Fields() {
		rule := cmp.Or(i.Tag.Get("trials"), rule)
		var known []float64
		for n, part := range parts {
			v := part.FieldByIndex(i.Index)
			switch {
			case rule == "sum":
				sum.SetInt(sum.Int() + v.Int())
			case rule == "first" && n == 0, rule == "max" && number(v) > number(sum), rule == "min" && (n == 0 || number(v) < number(sum)):
				sum.Set(v)
			case rule == "known" && number(v) >= 0, rule == "positive" && number(v) > 0:
				known = append(known, number(v))
			}
		}
		switch {
		case rule != "known" && rule != "positive":
			continue
		case rule == "known" && len(known) == 0:
			known = []float64{-1}
		}
		if sum.CanInt() {
			sum.SetInt(int64(median(known)))
		} else {
			sum.SetFloat(median(known))
		}
	}
	return all
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
			Add(&sum.Counts, c.Counts)
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

// Add adds what another trial or process has counted, of the same type. Numbers are added up, unless a field's tag says that the
// greatest (max) or the least (min) counts, that the sum is unknown if one is (known), or that the own one stays (-). The first of
// two texts stays. Maps and lists are added element by element; a list with the tag append is appended. What is zero adds nothing.
func Add[T any](to *T, more T) { add(reflect.ValueOf(to).Elem(), reflect.ValueOf(more), "") }

func add(to, more reflect.Value, rule string) {
	if more.IsZero() || rule == "-" {
		return
	}
	switch to.Kind() {
	case reflect.Struct:
		first := to.IsZero()
		for i, field := range to.Fields() {
			rule := i.Tag.Get("ranks")
			if of := more.FieldByIndex(i.Index); rule == "min" && (first || of.Int() < field.Int()) {
				field.Set(of)
			} else if rule != "min" {
				add(field, of, rule)
			}
		}
	case reflect.Pointer:
		if to.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
		}
		add(to.Elem(), more.Elem(), rule)
	case reflect.Map:
		if to.IsNil() {
			to.Set(reflect.MakeMap(to.Type()))
		}
		for key, of := range more.Seq2() {
			sum := reflect.New(to.Type().Elem()).Elem()
			if known := to.MapIndex(key); known.IsValid() {
				sum.Set(known)
			}
			add(sum, of, rule)
			to.SetMapIndex(key, sum)
		}
	case reflect.Slice:
		if rule == "append" {
			to.Set(reflect.AppendSlice(to, more))
			return
		}
		if lacks := more.Len() - to.Len(); lacks > 0 {
			to.Set(reflect.AppendSlice(to, reflect.MakeSlice(to.Type(), lacks, lacks)))
		}
		for i := range more.Len() {
			add(to.Index(i), more.Index(i), rule)
		}
	case reflect.String:
		to.SetString(cmp.Or(to.String(), more.String()))
	case reflect.Bool:
		to.SetBool(true)
	case reflect.Float64:
		to.SetFloat(added(to.Float(), more.Float(), rule))
	case reflect.Uint64:
		to.SetUint(added(to.Uint(), more.Uint(), rule))
	default:
		to.SetInt(added(to.Int(), more.Int(), rule))
	}
}

func added[N int64 | uint64 | float64](a, b N, rule string) N {
	switch {
	case rule == "max":
		return max(a, b)
	case rule == "known" && min(a, b) < 0:
		return min(a, b)
	}
	return a + b
}

func sumFairness(trials []*Record) Fairness {
	sum := overTrials(trials, "max", func(r *Record) Fairness { return r.Fairness })
	sum.Jain = trials[0].Fairness.Jain
	var jains []float64
	for _, r := range trials {
		if enoughGrants(r.Counts.Acquired, r.wanting()) {
			jains = append(jains, r.Fairness.Jain)
		}
	}
	if len(jains) > 0 {
		sum.Jain = median(jains)
	}
	return sum
}

// medianCost leaves out, amount by amount, the trials that do not know it.
func medianCost(trials []*Record) Cost {
	return overTrials(trials, "known", func(r *Record) Cost {
		c := r.Cost
		if !c.Trafficked() {
			c.RoundTrips, c.Notices, c.KeepAlives = -1, -1, -1
		}
		return c
	})
}

// medianBound sets what a round trip took under the load against what it took before it: a trial in which it was no sooner says
// the same of both.
func medianBound(trials []*Record) Bound {
	sum := overTrials(trials, "positive", func(r *Record) Bound {
		b := r.Bound
		if b.LoadRTT = b.RoundTrip(); b.LocksPerS <= 0 {
			b.Efficiency = -1
		}
		return b
	})
	sum.Efficiency = max(0, sum.Efficiency)
	if sum.LoadRTT >= sum.RTT && sum.RTT > 0 {
		sum.LoadRTT = 0
	}
	return sum
}

func sumGenerator(trials []*Record) Generator {
	sum := overTrials(trials, "known", func(r *Record) Generator { return r.Generator })
	busy, limits := 0, 0
	for _, r := range trials {
		g := r.Generator
		sum.Pauses = append(sum.Pauses, g.Pauses...)
		if g.Saturated {
			busy, sum.Why = busy+1, cmp.Or(sum.Why, g.Why)
			if !g.Delayed {
				limits++
			}
		}
	}
	sum.Saturated = 2*busy >= len(trials) && busy > 0
	sum.Delayed = sum.Saturated && limits == 0
	return sum
}

func medianThread(trials []*Record) Thread {
	sum := overTrials(trials, "known", func(r *Record) Thread {
		if r.Thread.Busy() <= 0 {
			return Thread{-1, -1}
		}
		return r.Thread
	})
	return Thread{max(0, sum.Ran), max(0, sum.Waited)}
}

// Merging: the distributions of several trials become one.

// sums are the distributions of a cell or a class, to which trials still come.
type sums map[Metric]*sum

// sum is a distribution of several trials together.
type sum struct {
	Latency // while there is one trial, as that recorded it; then count and overflow of all

	// What is long has two bytes a slot, so that adding takes no longer than decoding; what they cannot hold is in high.
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
