package report

import (
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/view"
)

// mainChart returns the picture that the title of a run rests on.
func mainChart(*view.Run) Block { return Block{} }

// charts returns the other pictures, each below a heading.
func charts(*view.Run) []Block { return nil }

// Pictures returns the charts that cells have the data for. Each has the name of a file.
func Pictures(cells []*results.Cell) []Chart { return nil }
