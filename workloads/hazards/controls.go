package hazards

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/safety"
)

// Judged runs a hazard on locks, with its controls, and adds to a report what was found. If it applies to none of the locks, its
// controls are not run. An interrupted run adds nothing.
func Judged(ctx context.Context, r *safety.Report, h *Hazard, locks []Lock, servers Servers, o Options) []safety.Cell {
	all := locks
	placebo := func() string { return "" }
	if slices.ContainsFunc(locks, h.AppliesTo) {
		all = WithControls(h, locks)
		why := make(chan string, 1)
		go func() { why <- Placebo(ctx, h, servers, o) }()
		placebo = func() string { return <-why }
	}
	cells := Run(ctx, h, all, servers, o)
	for i := range cells[len(locks):] {
		cells[len(locks)+i].Control = true
	}
	without := placebo()
	judged := safety.Hazard{Number: h.Number, Name: string(h.Name), About: h.Tells(), After: cmp.Or(h.After, h.Name.After())}
	if here := func(c safety.Cell) bool { return c.Attempts+c.Left > 0 }; slices.ContainsFunc(cells[:len(locks)], here) {
		judged.Control, judged.Wrong = Control(h, cells)
		if without != "" {
			judged.Control, judged.Wrong = without, true
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return r.Judge(judged, cells)
}

// WithControls returns the locks, and after them those controls of a hazard that are not among them.
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
	o.Attempts, o.Placebo, o.Prefix = 1, true, o.Prefix+"placebo:"
	for _, l := range WithControls(h, nil) {
		c := Run(ctx, h, []Lock{l}, servers, o)[0]
		switch {
		case c.Verdict == safety.NoServer || ctx.Err() != nil:
			continue
		case c.Attempts > 0 || c.Verdict == safety.Invalid:
			return fmt.Sprintf("without a fault %s has the verdict %q: %s", l.Name(), c.Verdict, c.Why)
		}
		return ""
	}
	return ""
}

// Control returns why a hazard shows nothing, which is empty if it does: each kind of control that is defined, those that have to
// fail and those that have to survive, has one that did, and no control did the opposite. Wrong says that one did the opposite;
// otherwise nothing is known of a kind. Controls whose server is not installed are left out, as long as one of the other kind did
// what it has to.
func Control(h *Hazard, cells []safety.Cell) (why string, wrong bool) {
	var right, missing int
	var install string
	for _, kind := range []struct {
		names []string
		must  safety.Verdict
		text  string
	}{{h.Fails, safety.Fails, "fail"}, {h.Sound, safety.Survives, "survive"}} {
		unsure, ok := "", false
		for _, c := range cells {
			name := c.Driver + " " + c.Lock
			switch {
			case !slices.Contains(kind.names, name):
			case c.Verdict == kind.must:
				ok = true
			case c.Verdict == safety.NoServer:
				missing++
				install = c.Why
			case c.Verdict.Open():
				unsure = fmt.Sprintf("%s has to %s, and is %s: %s", name, kind.text, c.Verdict, c.Why)
			default:
				return strings.TrimSuffix(fmt.Sprintf("%s has to %s, and %s: %s", name, kind.text, c.Verdict, c.Why), ": "), true
			}
		}
		if ok {
			right++
		} else if unsure != "" {
			why = unsure
		}
	}
	if why == "" && right == 0 && missing > 0 {
		why = "none of its controls is here: " + install
	}
	return why, false
}
