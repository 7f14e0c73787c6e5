// lockbench list: what can be measured here.

package cli

import (
	"context"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/workloads/matrix"
)

func (p *program) list(ctx context.Context, o *options, names []string) error {
	if len(names) == 0 {
		names = matrix.Names("driver")
	}
	out, err := listings.printer(p, o)
	if err != nil {
		return err
	}
	return out.end(catalog.New(ctx, names))
}

// listings are what list writes.
var listings = kind[catalog.Listing]{
	document: catalog.Listing.Document,
	formats:  []output[catalog.Listing]{{name: "json", write: export.JSON[catalog.Listing]}},
}
