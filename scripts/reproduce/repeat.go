package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

// seen counts what became of each cell in several runs, and how each ended.
type seen struct {
	cells map[[3]string]map[safety.Verdict]int
	codes map[int]int
	runs  int
}

// repeat makes whole runs, some at a time, and tells which cells have more than one verdict.
func repeat(ctx context.Context, out io.Writer, runs, atOnce int, flags []string) error {
	s := seen{cells: map[[3]string]map[safety.Verdict]int{}, codes: map[int]int{}}
	var mu sync.Mutex
	var err error
	var all sync.WaitGroup
	next := make(chan int)
	for range atOnce {
		all.Go(func() {
			for range next {
				report, code, failed := prove(ctx, flags)
				mu.Lock()
				if err = cmp.Or(err, failed); failed == nil {
					s.take(report, code)
				}
				mu.Unlock()
			}
		})
	}
	for i := range runs {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	all.Wait()
	if s.runs > 0 {
		s.print(out)
	}
	return err
}

func (s *seen) take(report *safety.Report, code int) {
	s.runs++
	s.codes[code]++
	for _, c := range report.Cells {
		at := [3]string{c.Hazard, c.Driver, c.Lock}
		if s.cells[at] == nil {
			s.cells[at] = map[safety.Verdict]int{}
		}
		s.cells[at][c.Verdict]++
	}
}

// print lists the cells that have more than one verdict.
func (s *seen) print(out io.Writer) {
	differ, open := 0, 0
	for _, at := range slices.SortedFunc(maps.Keys(s.cells), func(a, b [3]string) int { return slices.Compare(a[:], b[:]) }) {
		verdicts := s.cells[at]
		known := len(verdicts)
		for v, n := range verdicts {
			if v.Open() {
				known--
				open += n
			}
		}
		if known > 1 {
			differ++
		}
		if len(verdicts) > 1 {
			fmt.Fprintf(out, "%s %s %s:%s\n", at[0], at[1], at[2], counts(verdicts))
		}
	}
	fmt.Fprintf(out, "%s of %s: %d differ, %s without a verdict; exit codes%s\n",
		format.Plural(s.runs, "run"), format.Plural(len(s.cells), "cell"), differ, format.Plural(open, "time"), counts(s.codes))
}

// counts returns " what count" of each, in their order.
func counts[K cmp.Ordered](of map[K]int) (text string) {
	for _, k := range slices.Sorted(maps.Keys(of)) {
		text += fmt.Sprintf(" %v (%s)", k, format.Plural(of[k], "time"))
	}
	return text
}
