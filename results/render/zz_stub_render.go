package render

import (
	"fmt"
	"io"

	"github.com/lockbench/lockbench/results"
)

type Options struct {
	Width int
	Color bool
}

func Table(w io.Writer, recs []*results.Record, o Options) error {
	for _, r := range recs {
		fmt.Fprintln(w, r.Plan.Driver, r.Plan.Lock, r.Counts.Acquired, r.Partial)
	}
	return nil
}
