package drivertest

// Broken ways to find what a run has left.

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/memory"
)

// sweeping is a memory driver that knows all keys that its services were asked for, and so can sweep them.
type sweeping struct {
	memory.Driver
	matches func(key, prefix string) bool // nil: correct
	defect  defect
	all     *attempts
}

type defect int

const (
	sound defect = iota
	deletesWhenDry
	deletesNothing
	findsNothing
	takesNoPrefix
)

type attempts struct {
	mu   sync.Mutex
	keys map[string]drivers.Service
}

func newSweeping(d defect, matches func(key, prefix string) bool) drivers.Driver {
	return sweeping{matches: matches, defect: d, all: &attempts{keys: map[string]drivers.Service{}}}
}

func (d sweeping) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	svc, err := d.Driver.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &alteredService{Service: svc, wrap: func(s drivers.Session, _ int) drivers.Session {
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			held, err := s.Try(ctx, l)
			if held {
				d.all.mu.Lock()
				d.all.keys[l.Key] = svc
				d.all.mu.Unlock()
			}
			return held, err
		}, nil}
	}}, nil
}

func (d sweeping) Sweep(ctx context.Context, cfg drivers.Config, dry bool) (names []string, err error) {
	if cfg.Prefix == "" && d.defect != takesNoPrefix {
		return nil, fmt.Errorf("memory: %w", drivers.ErrNoPrefix)
	}
	matches := d.matches
	if matches == nil {
		matches = strings.HasPrefix
	}
	d.all.mu.Lock()
	defer d.all.mu.Unlock()
	for key, svc := range d.all.keys {
		if !matches(key, cfg.Prefix) || cfg.Prefix == "" {
			continue
		}
		if d.defect != findsNothing {
			names = append(names, key)
		}
		if dry && d.defect != deletesWhenDry || d.defect == deletesNothing {
			continue
		}
		delete(d.all.keys, key)
		cleaner, _ := drivers.As[drivers.Cleaner](svc)
		if err := cleaner.Clean(ctx, []string{key}); err != nil {
			return names, err
		}
	}
	slices.Sort(names)
	return names, nil
}

var brokenSweeps = []broken{
	{"sweeps everything", newSweeping(sound, func(string, string) bool { return true }), "sweep"},
	{"takes a prefix for a pattern", newSweeping(sound, func(key, prefix string) bool {
		matched, _ := path.Match(prefix+"*", key)
		return matched || strings.HasPrefix(key, prefix)
	}), "sweep"},
	{"does not tell cases apart when it sweeps", newSweeping(sound, func(key, prefix string) bool {
		return strings.HasPrefix(strings.ToLower(key), strings.ToLower(prefix))
	}), "sweep"},
	{"sweeps a shorter prefix", newSweeping(sound, func(key, prefix string) bool {
		return strings.HasPrefix(key, prefix[:len(prefix)-1])
	}), "sweep"},
	{"sweeps names of one piece", newSweeping(sound, func(key, prefix string) bool {
		return strings.HasPrefix(key, prefix) && !strings.Contains(key, "/")
	}), "sweep"},
	{"sweeps when dry", newSweeping(deletesWhenDry, nil), "sweep"},
	{"sweeps nothing", newSweeping(deletesNothing, nil), "sweep"},
	{"does not tell what it sweeps", newSweeping(findsNothing, nil), "sweep"},
	{"sweeps without a prefix", newSweeping(takesNoPrefix, nil), "sweep"},
}

// TestSoundSweep tests a correct driver.
func TestSoundSweep(t *testing.T) {
	for _, f := range check(t, newSweeping(sound, nil)) {
		t.Error(f)
	}
}
