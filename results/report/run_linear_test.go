package report_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/spec"
)

// TestLinear: a table of four times as many cells, or a cell of four times as many classes, takes about four times as much work, of
// which the allocations are a count. It would be sixteen times if each was compared with all.
func TestLinear(t *testing.T) {
	ofCells := func(n int) (recs []*results.Record) {
		for i := range n {
			r := record(i)
			r.ID, r.Cell, r.Plan.Clients, r.Plan.Keys = fmt.Sprint(i), i, 1+i%10, 1+i/10
			recs = append(recs, r)
		}
		return recs
	}
	ofClasses := func(n int) []*results.Record {
		r := record(1)
		for i := range n {
			name := fmt.Sprint("class", i)
			r.Plan.Classes = append(r.Plan.Classes, spec.Class{Name: name, Load: spec.Load{Clients: 1 + i}})
			r.Classes = append(r.Classes, results.ClassResult{Name: name, Clients: 1 + i, Jain: 1})
		}
		return []*results.Record{r}
	}
	for name, make := range map[string]func(int) []*results.Record{"cells": ofCells, "classes": ofClasses} {
		work := func(n int) float64 {
			cells, err := results.Group(make(n))
			if err != nil {
				t.Fatal(err)
			}
			return testing.AllocsPerRun(1, func() {
				if err := Table(io.Discard, cells, draw.Options{Width: 100}); err != nil {
					t.Error(err)
				}
			})
		}
		if few, many := work(100), work(400); many > 6*few {
			t.Errorf("%s: %v allocations for 100, %v for 400", name, few, many)
		}
	}
}
