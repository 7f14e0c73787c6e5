package compare

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

type change = func(r *results.Record)

func clients(n int) change      { return func(r *results.Record) { r.Plan.Clients = n } }
func driver(name string) change { return func(r *results.Record) { r.Plan.Driver = name } }
func of(changes ...change) change {
	return func(r *results.Record) {
		for _, c := range changes {
			c(r)
		}
	}
}
func kind(name string) change {
	return func(r *results.Record) { r.Plan.Server, r.Server.Kind = name, name }
}
func machine(cpu string) change      { return func(r *results.Record) { r.Env.CPU = cpu } }
func lasting(d time.Duration) change { return func(r *results.Record) { r.Plan.Duration = d } }

// cells returns ten trials of each.
func cells(changes ...change) (recs []*results.Record) {
	for _, c := range changes {
		recs = append(recs, each(series(1e5), c)...)
	}
	return recs
}

func labels(c *Comparison) (list []string) {
	for _, cell := range c.Cells {
		list = append(list, cell.Label)
	}
	return list
}

func TestMatching(t *testing.T) {
	for name, c := range map[string]struct {
		base, head     []*results.Record
		o              Options
		labels         []string
		missing, added []string
	}{
		"one": {cells(clients(8)), cells(clients(8)), Options{}, []string{""}, nil, nil},
		"in another order": {cells(clients(8), clients(64)), cells(clients(64), clients(8)), Options{},
			[]string{"8 clients", "64 clients"}, nil, nil},
		"some alone": {cells(clients(8), driver("go-redis")), cells(clients(8), clients(16)), Options{},
			[]string{"rueidis · 8 clients"}, []string{"go-redis · 64 clients"}, []string{"rueidis · 16 clients"}},
		"the seed, the command, the workload's name": {cells(func(r *results.Record) { r.Plan.Command, r.Plan.Workload = "a", "b" }), cells(of()), Options{},
			[]string{""}, nil, nil},
		"another flag, forced": {cells(driver("go-redis")), cells(driver("rueidis")), Options{Force: true}, []string{""}, nil, nil},
		"alike first": {cells(driver("go-redis")), cells(driver("rueidis"), driver("go-redis")), Options{Force: true},
			[]string{"go-redis"}, nil, []string{"rueidis"}},
		"several, forced": {cells(func(r *results.Record) { r.Plan.Wait, r.Plan.BackoffMin, r.Plan.Handover = "queue", 0, "swap" }), cells(of()),
			Options{Force: true}, []string{""}, nil, nil},
		"another flag for all cells": {cells(of(driver("go-redis"), clients(8)), of(driver("go-redis"), clients(16))), cells(clients(16), clients(8), clients(32)),
			Options{Force: true}, []string{"go-redis · 8 clients", "go-redis · 16 clients"}, nil, []string{"rueidis · 32 clients"}},
		"another kind of server, forced": {cells(kind("embedded")), cells(kind("private")), Options{Force: true}, []string{""}, nil, nil},
		"kinds apart":                    {cells(kind("embedded"), kind("private")), cells(kind("private"), kind("embedded")), Options{Force: true}, []string{"embedded", "private"}, nil, nil},
		"what follows from another flag is not in the name": {cells(of(), queued), cells(queued, of()), Options{}, []string{"wait backoff", "wait queue"}, nil, nil},
		"unless it tells cells apart": {cells(of(), queued, swapped), cells(queued, of(), swapped), Options{},
			[]string{"wait backoff", "wait queue · handover release", "wait queue · handover swap"}, nil, nil},
		"classes": {cells(classes(1), classes(2)), cells(classes(2), classes(3)), Options{}, []string{"classes a: hold 0; b: hold 2 ms"}, []string{"classes a: hold 0; b: hold 1 ms"}, []string{"classes a: hold 0; b: hold 3 ms"}},
	} {
		got := compared(t, c.base, c.head, c.o)
		if !slices.Equal(labels(got), c.labels) || !slices.Equal(got.Missing, c.missing) || !slices.Equal(got.Added, c.added) {
			t.Errorf("%s: %q, missing %q, added %q, want %q, %q and %q", name, labels(got), got.Missing, got.Added, c.labels, c.missing, c.added)
		}
		for _, cell := range got.Cells {
			if len(cell.Base) != 10 || len(cell.Head) != 10 || cell.Verdict != Unchanged {
				t.Errorf("%s: %q has %d and %d trials: %s", name, cell.Label, len(cell.Base), len(cell.Head), cell.Verdict)
			}
		}
	}
}

func queued(r *results.Record) {
	r.Plan.Wait, r.Plan.BackoffMin, r.Plan.Handover = "queue", 0, "release"
}

func swapped(r *results.Record) {
	queued(r)
	r.Plan.Handover = "swap"
}

func classes(ms int) change {
	return func(r *results.Record) {
		r.Plan.Classes = []spec.Class{{Name: "a"}, {Name: "b", Load: spec.Load{Hold: time.Duration(ms) * time.Millisecond}}}
	}
}

func TestNoMatch(t *testing.T) {
	partial := func(r *results.Record) { r.Partial = "interrupted" }
	for want, c := range map[string]struct {
		base, head []*results.Record
		o          Options
	}{
		"no cell of head.jsonl matches one of base.jsonl; the nearest two differ in clients (8, 16); -force compares them": {
			cells(clients(8)), cells(of(clients(16), lasting(time.Second)), clients(16)), Options{}},
		"in clients (8, 16) and duration (10s, 1m); -force compares them": {
			cells(clients(8)), cells(of(clients(16), lasting(time.Minute))), Options{}},
		"in clients (8, 32)": { // and not that with another kind of server besides
			cells(clients(8)), cells(of(clients(16), kind("embedded")), clients(32)), Options{}},
		"in the kind of server (private, embedded); -force compares them": {
			cells(of()), cells(kind("embedded")), Options{}},
		"differ in clients (8, 16)":                                      {cells(clients(8)), cells(clients(16), clients(32)), Options{Force: true}},
		"head.jsonl has no whole trial, and 10 records that ended early": {cells(of()), cells(partial), Options{}},
		"base.jsonl has no whole trial, and 0 records that ended early":  {nil, cells(of()), Options{}},
	} {
		_, err := Compare(input("base.jsonl", c.base), input("head.jsonl", c.head), c.o)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	same := cells(of())
	if _, err := Compare(input("a", same), input("b", same[5:]), Options{}); err == nil || !strings.Contains(err.Error(), "5 of the 5 trials of b are in a too") {
		t.Errorf("the same trials on both sides: %v", err)
	}
}

// TestEnvironments: what is said of unlike ones, and whether it is judged.
func TestEnvironments(t *testing.T) {
	for name, c := range map[string]struct {
		base, head change
		force      bool
		verdict    Verdict
		notes      []string
	}{
		"the same": {of(), of(), false, Regressed, nil},
		"another machine": {machine("A"), machine("B"), false, Inconclusive,
			[]string{"machine: 2 × A in the base, 2 × B in the head"}},
		"another machine, forced": {machine("A"), machine("B"), true, Regressed,
			[]string{"machine: 2 × A in the base, 2 × B in the head",
				"forced: the machines are unlike, and a change may be theirs"}},
		"another kernel": {of(), func(r *results.Record) { r.Env.Kernel = "6.1" }, false, Inconclusive,
			[]string{"system: linux/amd64 in the base, linux/amd64 6.1 in the head"}},
		"another server": {of(), func(r *results.Record) { r.Server.Version = "8" }, false, Regressed,
			[]string{"server: redis 7.0.15 · private in the base, redis 8 · private in the head"}},
		"another library": {of(), func(r *results.Record) { r.Env.Libraries = map[string]string{"rueidis": "v2"} }, false, Regressed,
			[]string{"libraries: none in the base, rueidis v2 in the head"}},
		"other variables": {of(), func(r *results.Record) { r.Env.Variables = map[string]string{"GOGC": "50"} }, false, Regressed,
			[]string{"variables: none in the base, GOGC=50 in the head"}},
		"several machines on both sides": {alternately(machine("A"), machine("B")), alternately(machine("B"), machine("A")), false, Inconclusive,
			[]string{"machine: several on both sides, 2 × A; 2 × B"}},
		"several machines on one": {alternately(machine("A"), machine("B")), machine("A"), false, Inconclusive,
			[]string{"machine: 2 × A and 2 × B in the base, 2 × A in the head"}},
		"other claims": {of(), func(r *results.Record) { r.Traits.Fenced = true }, false, Regressed,
			[]string{"claims: exclusive in the base, exclusive, fenced in the head"}},
		"saturated and drifting": {func(r *results.Record) { r.Generator.Saturated = true }, alternately(func(r *results.Record) { r.Steady.Drifts = true }, of()), false, Regressed,
			[]string{"saturated: 10 of 10 trials of the base", "drifts: 5 of 10 trials of the head"}},
		"violated": {of(), func(r *results.Record) { r.Safety.Violations = 1 }, false, Regressed,
			[]string{"violated: 10 of 10 trials of the head"}},
	} {
		got := compared(t, each(series(1e5), c.base), each(series(0.8e5), c.head), Options{Force: c.force, Thresholds: thresholds(t, "locks/s<-5%")})
		if got.Verdict != c.verdict || !slices.Equal(got.Notes, c.notes) {
			t.Errorf("%s: %s, %q, want %s, %q", name, got.Verdict, got.Notes, c.verdict, c.notes)
		}
	}
	// A violation is one on any machine.
	violated := each(series(1e5), of(machine("B"), func(r *results.Record) { r.Safety.Violations = 1 }))
	if got := compared(t, series(1e5), violated, Options{}); got.Verdict != Regressed {
		t.Errorf("a violation on another machine: %s", got.Verdict)
	}
}

func alternately(a, b change) change {
	n := 0
	return func(r *results.Record) {
		if n++; n%2 == 1 {
			a(r)
		} else {
			b(r)
		}
	}
}

// TestTurns: trials that ran one side after the other say so, if they are of one machine.
func TestTurns(t *testing.T) {
	at := func(recs []*results.Record, first, step int) []*results.Record {
		for i, r := range recs {
			r.Started = time.Unix(int64(first+i*step), 0)
		}
		return recs
	}
	night := func(first int) []*results.Record { return at(series(1e5)[:5], first, 1) }
	for name, c := range map[string]struct {
		base, head []*results.Record
		want       int
	}{
		"by turns":          {at(series(1e5), 0, 2), at(series(1e5), 1, 2), 0},
		"base first":        {at(series(1e5), 0, 1), at(series(1e5), 10, 1), 1},
		"head first":        {at(series(1e5), 10, 1), at(series(1e5), 0, 1), 1},
		"one trial of each": {at(series(1e5)[:1], 0, 1), at(series(1e5)[:1], 1, 1), 0},
		"nights by turns":   {slices.Concat(night(0), night(20)), slices.Concat(night(10), night(30)), 1},
		"more nights":       {slices.Concat(night(0), night(20), night(40)), slices.Concat(night(10), night(30), night(50)), 1},
		"two of each":       {at(series(1e5)[:2], 0, 1), at(series(1e5)[:2], 2, 1), 1},
		"one and two":       {at(series(1e5)[:1], 0, 1), at(series(1e5)[:2], 1, 1), 0},
		"two and one":       {at(series(1e5)[:2], 0, 1), at(series(1e5)[:1], 2, 1), 0},
		"there and back":    {slices.Concat(at(series(1e5)[:1], 0, 1), at(series(1e5)[:1], 3, 1)), at(series(1e5)[:2], 1, 1), 0},
		"two machines":      {at(series(1e5), 0, 1), each(at(series(1e5), 10, 1), machine("B")), 0},
	} {
		got := compared(t, c.base, c.head, Options{})
		n := number(got.Notes, func(note string) bool {
			return strings.HasPrefix(note, "order: ")
		})
		if n != c.want {
			t.Errorf("%s: %q", name, got.Notes)
		}
	}
}

// TestNotesOfOneCell are said of that cell, and those of every cell once.
func TestNotesOfOneCell(t *testing.T) {
	faster := func(r *results.Record) { r.Env.Go = "go2" }
	head := slices.Concat(cells(of(clients(8), faster)), cells(of(clients(16), faster, func(r *results.Record) { r.Generator.Saturated = true })))
	got := compared(t, cells(clients(8), clients(16)), head, Options{})
	if !slices.Equal(got.Notes, []string{"lockbench: v1 go1.26 in the base, v1 go2 in the head"}) || len(got.Cells[0].Notes) != 0 || len(got.Cells[1].Notes) != 1 {
		t.Errorf("%q, %q, %q", got.Notes, got.Cells[0].Notes, got.Cells[1].Notes)
	}
}

// TestLeftOut: partial records and duplicates are counted and change nothing.
func TestLeftOut(t *testing.T) {
	base, head := series(1e5), series(1e5)
	wild := trial(1, time.Hour)
	wild.Partial = "interrupted"
	in := input("head.jsonl", append(head, wild))
	in.Cells[0].Duplicates = 1 // as a Collector counts them
	got, err := Compare(input("base.jsonl", base), in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Head.Trials != 10 || got.Head.Partial != 1 || got.Head.Duplicates != 1 || got.Verdict != Unchanged || got.Cells[0].Figures[0].Change.Head.Median != 1e5 {
		t.Errorf("%+v, %s", got.Head, got.Verdict)
	}
	want := []string{"partial: 1 of 11 trials of the head left out (interrupted)", "duplicates: 1 record of the head left out"}
	if !slices.Equal(got.Notes, want) {
		t.Errorf("%q, want %q", got.Notes, want)
	}
	// Nor is one passed over that the head does not have at all, unless that is meant.
	for o, want := range map[*Options]Verdict{{}: Inconclusive, {Subset: true}: Unchanged, {Force: true}: Unchanged} {
		if got := compared(t, cells(clients(8), clients(16)), cells(clients(16)), *o); got.Verdict != want || len(got.Missing) != 1 {
			t.Errorf("a cell that the head lacks, %+v: %s, %q", o, got.Verdict, got.Missing)
		}
	}
	if got := compared(t, cells(clients(16)), cells(clients(8), clients(16)), Options{}); got.Verdict != Unchanged || len(got.Added) != 1 {
		t.Errorf("a cell that the base lacks: %s, %q", got.Verdict, got.Added)
	}
	bad := slices.Concat(cells(of(clients(8), func(r *results.Record) { r.Safety.Violations = 1 })), cells(clients(16)))
	got = compared(t, cells(clients(16)), bad, Options{})
	if n := got.Notes; len(n) != 1 || !strings.HasPrefix(n[0], "violated: 10 of 10 trials of 8 clients, which only the head has") {
		t.Errorf("a violation in a cell that the base lacks: %q", n)
	}
	if got.Verdict != Regressed || got.Broken != 1 {
		t.Errorf("a violation in a cell that the base lacks: %s, %d cells", got.Verdict, got.Broken)
	}
	if got = compared(t, cells(clients(16)), bad, Options{Thresholds: thresholds(t, "locks/s<-5%")}); got.Verdict != Unchanged {
		t.Errorf("a violation that no threshold judges, in a cell that the base lacks: %s", got.Verdict)
	}
	// A cell that has nothing else is not forgotten.
	cut := each(series(1e5), of(clients(8), func(r *results.Record) { r.Partial = "the server was gone" }))
	got = compared(t, cells(clients(8), clients(16)), slices.Concat(cut, cells(clients(16))), Options{})
	for i, r := range got.Cells[0].Figures {
		if r.Threshold != nil && (r.Verdict != Inconclusive || r.Why != "counted: 0 of 10 trials of the head") || got.Cells[1].Verdict != Unchanged {
			t.Errorf("figure %d: %s: %+v", i, got.Verdict, r)
		}
	}
	cut[3].Safety.Violations = 1
	got = compared(t, cells(clients(8), clients(16)), slices.Concat(cut, cells(clients(16))), Options{})
	if got.Verdict != Regressed {
		t.Errorf("a violation of a trial that ended early, where none was whole: %s", got.Verdict)
	}
}

// TestSides compares runs with two sides: by their pairs, whatever their plans.
func TestSides(t *testing.T) {
	on := func(side, run string, pair int, more ...change) change {
		n := 0
		return of(append(more, func(r *results.Record) { n++; r.Side, r.Run, r.Pair, r.Trial = side, run, pair, n })...)
	}
	queue := func(r *results.Record) { r.Plan.Wait, r.Plan.BackoffMin = "queue", 0 }
	recs := cells(
		on("base", "r1", 0, clients(8)), on("head", "r1", 0, clients(8), queue),
		on("base", "r1", 1, clients(16)), on("head", "r1", 1, clients(16), queue),
		on("base", "r2", 5, clients(8)), on("head", "r2", 5, clients(8), queue), // the same again
		on("base", "r2", 6, clients(8)), on("head", "r2", 6, clients(8)), // and with itself
		on("base", "r2", 7, clients(32)), // alone
	)
	base, head, err := Split(input("runs.jsonl", recs))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Compare(base, head, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, c := range got.Cells {
		sizes = append(sizes, len(c.Base), len(c.Head))
	}
	if !slices.Equal(sizes, []int{20, 20, 10, 10, 10, 10}) || !slices.Equal(got.Missing, []string{"32 clients"}) || got.Base.Name != "runs.jsonl" {
		t.Errorf("%v trials, missing %q", sizes, got.Missing)
	}
	if want := []string{"8 clients #1", "16 clients", "8 clients #2"}; !slices.Equal(labels(got), want) {
		t.Errorf("%q, want %q", labels(got), want)
	}
	if want := []string{"-wait: backoff in the base, queue in the head"}; !slices.Equal(got.Cells[0].Notes, want) {
		t.Errorf("%q, want %q", got.Cells[0].Notes, want)
	}
	for _, side := range []string{"base", "head", ""} {
		if _, _, err := Split(input("x", cells(on(side, "r", 0)))); err == nil || !strings.Contains(err.Error(), "x has not both sides") {
			t.Errorf("%q alone: %v", side, err)
		}
	}
	other := each(slices.Clone(cells(on("head", "r9", 0))), of())
	if _, err := Compare(input("a", cells(on("base", "r1", 0))), input("b", other), Options{}); err == nil {
		t.Error("sides of different runs were compared")
	}
}

func TestRevisions(t *testing.T) {
	var recs []*results.Record
	for _, env := range []results.Env{{Revision: "a", Lockbench: "v1"}, {}, {Lockbench: "v2"}, {Revision: "a"}} {
		recs = append(recs, &results.Record{Env: env})
	}
	if got, want := Revisions(recs), []string{"a", "v2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
