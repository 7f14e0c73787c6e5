package results

// The rules by which the trials of a cell become one figure each.

import (
	"math"
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

// medianOf returns the median over the trials; a duration comes out in whole nanoseconds.
func medianOf[T float64 | time.Duration](trials []*Record, value func(*Record) T) T {
	return T(median(valuesOf(trials, func(r *Record) float64 { return float64(value(r)) })))
}

// sumOf returns the sum over the trials.
func sumOf[T int64 | time.Duration](trials []*Record, value func(*Record) T) (sum T) {
	for _, r := range trials {
		sum += value(r)
	}
	return sum
}

// medianKnown returns the median over the trials that know the value, and -1 if none does.
func medianKnown(trials []*Record, value func(*Record) float64) float64 {
	known := slices.DeleteFunc(valuesOf(trials, value), func(v float64) bool { return v < 0 || math.IsNaN(v) })
	if len(known) == 0 {
		return -1
	}
	return median(known)
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
			jains = append(jains, c.Jain)
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
	c.Acquired += o.Acquired
	c.Contended += o.Contended
	c.TimedOut += o.TimedOut
	c.Canceled += o.Canceled
	c.Unknown += o.Unknown
	c.Refused += o.Refused
	c.Unfinished += o.Unfinished
	c.Tries += o.Tries
	c.LocalRefusals += o.LocalRefusals
	c.Released += o.Released
	c.Lost += o.Lost
	c.LostRenewal += o.LostRenewal
	c.ReleaseError += o.ReleaseError
	c.Offered += o.Offered
	c.Dropped += o.Dropped
	c.Crashed += o.Crashed
	c.Overstayed += o.Overstayed
	c.SplitVotes += o.SplitVotes
	c.LateGrants += o.LateGrants
	for i, n := range o.NodeErrors {
		if i == len(c.NodeErrors) {
			c.NodeErrors = append(slices.Clip(c.NodeErrors), 0)
		}
		c.NodeErrors[i] += n
	}
	c.Renewals += o.Renewals
	c.RenewError += o.RenewError
	c.Reentries += o.Reentries
	c.ReentryRefused += o.ReentryRefused
	c.ReentryError += o.ReentryError
	c.StuckKeys += o.StuckKeys
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
	sum.Jain = medianOf(trials, func(r *Record) float64 { return r.Fairness.Jain })
	return sum
}

// medianCost leaves out, amount by amount, the trials that do not know it.
func medianCost(trials []*Record) (sum Cost) {
	for i, amount := range sum.amounts() {
		*amount = medianKnown(trials, func(r *Record) float64 {
			c := r.Cost
			if !c.Trafficked() {
				c.RoundTrips, c.Notices, c.KeepAlives = -1, -1, -1
			}
			return *c.amounts()[i]
		})
	}
	return sum
}

func sumGenerator(trials []*Record) Generator {
	sum := Generator{
		CPU:      medianOf(trials, func(r *Record) float64 { return r.Generator.CPU }),
		Machine:  medianKnown(trials, func(r *Record) float64 { return r.Generator.Machine }),
		GCPauses: medianOf(trials, func(r *Record) time.Duration { return r.Generator.GCPauses }),
		RunQueue: medianOf(trials, func(r *Record) time.Duration { return r.Generator.RunQueue }),
	}
	sum.Throttled = time.Duration(medianKnown(trials, func(r *Record) float64 { return float64(r.Generator.Throttled) }))
	sum.CoreWait = time.Duration(medianKnown(trials, func(r *Record) float64 { return float64(r.Generator.CoreWait) }))
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
