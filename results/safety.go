// What the oracle says of mutual exclusion, and what that proves.

package results

import (
	"encoding/json"
	"time"
)

// Safety is the oracle's report; Checked false means that it was off.
type Safety struct {
	Checked    bool          `json:"checked" trials:"-"`
	Grants     int64         `json:"grants"`     // acquisitions that the oracle saw, warm-up included
	Violations int64         `json:"violations"` // grants of a key that another client still held
	Longest    time.Duration `json:"longest_overlap_ns" trials:"max" ranks:"max"`

	// Overlap is the time in which a key had two holders or more, summed over keys. A moment counts once, and a
	// process may see less.
	Overlap time.Duration `json:"total_overlap_ns" ranks:"max"`

	LostUpdates   int64 `json:"lost_updates"`             // by the second witness, an unprotected counter a key
	WrongReleases int64 `json:"wrong_releases"`           // releases that removed another client's lock; package oracle says when one is called that
	FenceRegress  int64 `json:"fence_regress" trials:"-"` // fencing tokens not above the highest one seen, of grants whose lease cannot have ended

	// LostEarly are releases that found nothing to release although the lease cannot have ended: the lock was taken from
	// its holder, or the holder never had it. It is counted for locks that do not belong to a session with the service,
	// whose end nobody announces.
	LostEarly int64 `json:"lost_early,omitempty" trials:"-"`

	// Explained says why LostEarly and FenceRegress prove nothing in this trial: the server was restarted, or a request
	// failed whose effect may have come late. Empty if nothing explains them.
	Explained string `json:"explained,omitempty" trials:"-"`

	// Possible are the grants of a key that a client of another host may still have held, or not: their clocks are compared with a
	// doubt of up to Blind. They are in no other figure, and an overlap that takes longer than Blind is never among them. Both are 0
	// if one host made the load.
	Possible int64         `json:"possible,omitempty"`
	Blind    time.Duration `json:"blind_ns,omitempty" trials:"max"`

	// Ended counts the holds that were gone because the service had ended the session of their holder, by the reason that the
	// driver has heard. Only locks that belong to a session have any.
	Ended map[string]int64 `json:"ended,omitempty" trials:"-"`

	// Power is what the oracle could have seen; nil in records from before that was counted.
	Power *Power `json:"power,omitempty" trials:"-"`

	Events []Violation `json:"events,omitempty" trials:"-" ranks:"append"` // the first few
}

// Power tells how many grants of a trial could have shown a violation. A hold is watched if another client's attempt on
// its key was answered while it lasted: had that answer been a wrong grant, it would have been counted. Holds that nobody
// tried to intrude upon show nothing, whatever the lock is worth.
type Power struct {
	Watched  int64 `json:"watched"`  // grants, those that were violated included
	Refusals int64 `json:"refusals"` // attempts that were refused during such a hold

	// Sampled are holds that the harness has made longer, so that they are watched, and SampledTime is by how much in all.
	Sampled     int64         `json:"sampled,omitempty"`
	SampledTime time.Duration `json:"sampled_ns,omitempty"`
}

// Violation is one grant of a key that was already held.
type Violation struct {
	At       time.Duration `json:"at_ns"` // since the load began, warm-up included
	Key      int           `json:"key"`
	Holder   int           `json:"holder"`     // the client that held it (one of them)
	Intruder int           `json:"intruder"`   // the client that was granted it too
	Overlap  time.Duration `json:"overlap_ns"` // 0 if it had not ended with the run
}

// Breaches returns how often exclusion was broken at least. One breach can be seen by several witnesses (an overlap of two holds, a lock lost early, a fencing token that goes back, a lost update), so it
// is the count of the one that saw most. Of a lock that only its holder can release, a wrong release is another: it takes the
// lock from a client that holds it.
func (r *Record) Breaches() int64 {
	s := r.Safety
	n := s.Violations
	if n == 0 {
		n = s.LostUpdates
	}
	if s.Explained == "" {
		n = max(n, s.LostEarly, s.FenceRegress)
	}
	if r.Traits.Owned {
		n = max(n, s.WrongReleases)
	}
	return max(0, n)
}

// Breaches adds up those of the trials, each judged by its own witnesses.
func (c *Cell) Breaches() int64 { return sumOf(c.Trials, (*Record).Breaches) }

// Broken returns how often the lock has broken the exclusion that it claims; 0 of one that claims none.
func (r *Record) Broken() int64 {
	if !r.Traits.Exclusive {
		return 0
	}
	return r.Breaches()
}

// Broken returns how often the lock has broken the exclusion that it claims, in all trials.
func (c *Cell) Broken() int64 { return sumOf(c.Trials, (*Record).Broken) }

// Violated reports whether the lock has failed: it claims to exclude, and exclusion was broken.
func (r *Record) Violated() bool { return r.Broken() > 0 }

// Violated reports whether the lock has failed in any trial.
func (c *Cell) Violated() bool { return c.Broken() > 0 }

// MaxRate returns the highest share of violations among watched grants that no violation leaves possible, with 95 %
// confidence: 3/n for n watched grants, if they are independent (the rule of three; Hanley and Lippman-Hand, "If nothing
// goes wrong, is everything all right?", JAMA 249, 1983). It is false if there is no such bound: the oracle was off, too
// few grants were watched or nobody knows how many, or exclusion was broken or may have been.
func (f Figures) MaxRate() (rate float64, ok bool) {
	s := f.Safety
	if !s.Checked || s.Violations+s.Possible > 0 || f.Breaches > 0 || s.Power == nil || s.Power.Watched <= 3 {
		return 0, false
	}
	return 3 / float64(s.Power.Watched), true
}

func sumSafety(trials []*Record) Safety {
	sum := overTrials(trials, "sum", func(r *Record) Safety { return r.Safety })
	sum.Checked = true
	var powerful []*Record
	explained, broken := "", false
	for _, r := range trials {
		s := r.Safety
		sum.Checked = sum.Checked && s.Checked
		sum.Events = append(sum.Events, s.Events...)
		Add(&sum.Ended, s.Ended)
		if s.Power != nil {
			powerful = append(powerful, r)
		}
		switch {
		case s.LostEarly+s.FenceRegress == 0:
		case s.Explained == "":
			broken = true
		case explained == "":
			explained = s.Explained
		}
	}
	for _, r := range trials { // what is explained in one trial does not excuse another
		if s := r.Safety; !broken || s.Explained == "" {
			sum.LostEarly += s.LostEarly
			sum.FenceRegress += s.FenceRegress
		}
	}
	if !broken {
		sum.Explained = explained
	}
	if len(powerful) > 0 {
		power := overTrials(powerful, "sum", func(r *Record) Power { return *r.Safety.Power })
		sum.Power = &power
	}
	return sum
}

// UnmarshalJSON leaves out the violations that the plan of an old record has asked for (-overstay): they say nothing
// against the lock.
func (s *Safety) UnmarshalJSON(text []byte) error {
	type safety Safety
	old := struct {
		*safety
		Overstayed int64 `json:"overstayed"`
	}{safety: (*safety)(s)}
	if err := json.Unmarshal(text, &old); err != nil {
		return err
	}
	if old.Overstayed > 0 && s.Violations == old.Overstayed {
		s.LostUpdates, s.Events = 0, nil
	}
	s.Violations -= max(0, old.Overstayed)
	return nil
}
