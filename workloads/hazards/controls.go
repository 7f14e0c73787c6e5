package hazards

import (
	"context"
	"fmt"
	"slices"

	"github.com/lockbench/lockbench/results/safety"
)

// WithControls returns the locks with the controls of a hazard among them.
func WithControls(h *Hazard, locks []Lock) []Lock {
	all := slices.Clone(locks)
	for _, name := range slices.Concat(h.Fails, h.Sound) {
		if slices.ContainsFunc(all, func(l Lock) bool { return l.Name() == name }) {
			continue
		}
		if l, ok := Find(name); ok {
			all = append(all, l)
		}
	}
	return all
}

// Placebo runs a hazard without its fault, on a control whose server is here, and returns why nothing that the hazard shows is to
// be believed: an attempt without a fault was counted.
func Placebo(ctx context.Context, h *Hazard, servers Servers, o Options) (why string) {
	o.Attempts, o.Placebo = 1, true
	for _, l := range WithControls(h, nil) {
		c := Run(ctx, h, []Lock{l}, servers, o)[0]
		switch {
		case c.Verdict == safety.NoServer || ctx.Err() != nil:
			continue
		case c.Verdict != safety.NotExercised:
			return fmt.Sprintf("without a fault %s has the verdict %q: %s", l.Name(), c.Verdict, c.Why)
		}
		return ""
	}
	return ""
}

// Control returns why a hazard shows nothing: a control that has to fail did not, or the other way round. It is empty if all
// controls that could be run are as they have to be.
func Control(h *Hazard, cells []safety.Cell) (why string) {
	ran := 0
	for _, c := range cells {
		name := c.Driver + " " + c.Lock
		fails, sound := slices.Contains(h.Fails, name), slices.Contains(h.Sound, name)
		switch {
		case !fails && !sound, c.Verdict == safety.NoServer:
			continue
		case fails && c.Verdict != safety.Fails:
			return fmt.Sprintf("%s has to fail it, and its verdict is %q: %s", name, c.Verdict, c.Why)
		case sound && c.Verdict != safety.Survives:
			return fmt.Sprintf("%s has to survive it, and its verdict is %q: %s", name, c.Verdict, c.Why)
		}
		ran++
	}
	if ran == 0 && len(h.Fails)+len(h.Sound) > 0 {
		return "none of its controls could be run: install redis-server"
	}
	return ""
}
