package drivertest

// The case about finding what a run has left.

import (
	"errors"
	"slices"

	"github.com/lockbench/lockbench/drivers"
)

// The prefixes of the case: swept has characters with a meaning in servers' patterns, and each of unswept would match
// such a pattern, or be equal on a server that ignores case.
const swept = "a*b_[c]%:"

var unswept = []string{"axb_[c]%:", "a*bx[c]%:", "a*b_c%:", "a*b_[c]xx:", "A*B_[C]%:", "a*b_[c]%"}

// sweep must find everything that a dead run has left, delete it only when told to, and leave everything else alone.
func sweep(t *T) {
	sweeper := t.Driver.(drivers.Sweeper)
	ours := t.Config
	ours.Prefix, ours.Clients = t.prefix+swept, 3
	svc := t.openWith(ours)
	dead, rival, successor := t.client(svc), t.client(svc), t.client(svc)
	keys := []string{t.named(swept + "0"), t.named(swept + "1"), t.named(swept + "x/y")}
	for _, key := range keys {
		dead.hold(lease(key, long), "the key is free")
	}
	type hold struct {
		*client
		key string
	}
	var rivals []hold
	for _, prefix := range unswept {
		cfg := ours
		cfg.Prefix = t.prefix + prefix
		svc, key := t.openWith(cfg), t.named(prefix+"0")
		t.client(svc).hold(lease(key, long), "the key is free")
		rivals = append(rivals, hold{t.client(svc), key})
	}

	if _, err := sweeper.Sweep(t.ctx, drivers.Config{Addrs: ours.Addrs}, false); !errors.Is(err, drivers.ErrNoPrefix) {
		t.Fatalf("Sweep without a prefix, which would be everything: %v, want ErrNoPrefix", err)
	}
	found := t.sweep(sweeper, ours, true)
	if t.traits.Expires && len(found) == 0 { // it may be one table
		t.Fatalf("a dry Sweep has found nothing of %d keys that are held", len(keys))
	}
	rival.refused(lease(keys[0], long), "another client holds the key; a dry Sweep deletes nothing")
	if dies(t.known) {
		dead.crash()
		rival.crash()
	}
	for _, name := range t.sweep(sweeper, ours, false) {
		if i := slices.Index(found, name); i >= 0 {
			found = slices.Delete(found, i, i+1)
		}
	}
	t.errorIf(t.traits.Expires && len(found) > 0, "Sweep has not deleted %q, which it had found when it was dry", found)
	left := t.sweep(sweeper, ours, true)
	t.errorIf(len(left) > 0, "Sweep has left %q", left)
	if !t.traits.Expires { // it was in a table that is gone, or in a session
		successor = t.client(t.openWith(ours))
	}
	for _, key := range keys {
		t.eventually("a key that was swept did not come free", func() bool { return successor.tries(lease(key, long)) })
	}
	for _, r := range rivals {
		r.refused(lease(r.key, long), "another client holds the key, whose prefix was not swept")
	}
}

func (t *T) sweep(s drivers.Sweeper, cfg drivers.Config, dry bool) []string {
	names, err := s.Sweep(t.ctx, cfg, dry)
	t.must("Sweep", err)
	return names
}
