package secrets

import "github.com/lockbench/lockbench/results"

// ScrubRecord hides the secrets in what a record quotes of servers. The plan keeps its text, except for passwords in
// addresses.
func (s *Secrets) ScrubRecord(r *results.Record) {
	for _, text := range []*string{
		&r.Partial, &r.Server.Version, &r.Server.Mode, &r.Server.Persistence,
	} {
		*text = s.Scrub(*text)
	}
	for i := range r.Warnings {
		r.Warnings[i] = s.Scrub(r.Warnings[i])
	}
	counts := []*results.Counts{&r.Counts}
	for i := range r.Classes {
		counts = append(counts, &r.Classes[i].Counts)
	}
	for _, c := range counts {
		for class, sample := range c.ErrorSample {
			c.ErrorSample[class] = s.Scrub(sample)
		}
	}
	ended := map[string]int64{}
	for reason, n := range r.Safety.Ended {
		ended[s.Scrub(reason)] += n
	}
	if len(ended) > 0 {
		r.Safety.Ended = ended
	}
	for _, text := range []*string{&r.Env.Revision, &r.Plan.Command, &r.Plan.Workload} {
		*text = Mask(*text)
	}
}
