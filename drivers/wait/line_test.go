package wait

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// TestLinesLeaveNothing makes lines for many keys, one after the other: they reuse memory.
func TestLinesLeaveNothing(t *testing.T) {
	room := &Room{lines: newLines(), traits: drivers.Traits{}, options: Options{Handover: HandoverRelease}}
	q, err := room.queued(held{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := drivers.Lease{TTL: time.Minute}
	for i := range 10_000 {
		l.Key = fmt.Sprint(i)
		q.Try(t.Context(), &l)
		q.Release(t.Context(), &l)
	}
	for i := range room.lines.shards {
		s, free := &room.lines.shards[i], 0
		for ln := s.free; ln != nil; ln = ln.free {
			free++
		}
		if len(s.lines) != 0 || free > 1 {
			t.Fatalf("shard %d has %d lines in use and %d more", i, len(s.lines), free)
		}
	}
}

// held is a session that is granted everything.
type held struct{}

func (held) Try(context.Context, *drivers.Lease) (bool, error)     { return true, nil }
func (held) Release(context.Context, *drivers.Lease) (bool, error) { return true, nil }
