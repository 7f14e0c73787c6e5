package memory

// The null driver: no lock at all, to show the cost of the harness, and as a control that must show violations.

import (
	"context"
	"fmt"

	"github.com/lockbench/lockbench/drivers"
)

// Null opens locks that grant every attempt and keep no state. They claim nothing, not even exclusion.
type Null struct{}

// Designs lists the one design, "none".
func (Null) Designs() []drivers.Design {
	return []drivers.Design{{
		Name:   "none",
		Models: "no lock at all",
		Wrong:  "no exclusion; it shows the cost of the harness, and what violations look like",
	}}
}

// Library implements drivers.Described.
func (Null) Library() drivers.Library { return inProcess }

// Open only requires a known Lock.
func (d Null) Open(_ context.Context, cfg drivers.Config) (drivers.Service, error) {
	if _, err := drivers.FindDesign(d, cfg.Lock); err != nil {
		return nil, fmt.Errorf("null: open: %w", err)
	}
	return null{}, nil
}

// null is both service and session, because neither has any state.
type null struct{}

func (null) Session(context.Context, int) (drivers.Session, error) { return null{}, nil }
func (null) Traits() drivers.Traits                                { return drivers.Traits{} }
func (null) Batch(context.Context) (drivers.Batch, error)          { return drivers.InTurn{}, nil }
func (null) Close() error                                          { return nil }
func (null) Try(_ context.Context, l *drivers.Lease) (held bool, err error) {
	l.Reset()
	return true, nil
}
func (null) Release(context.Context, *drivers.Lease) (ok bool, err error) { return true, nil }
