package memory

// What the table keeps and what it forgets, which cannot be seen from outside.

import (
	"testing"

	"github.com/lockbench/lockbench/drivers"
)

func (s *service) size() (n int) {
	for i := range s.shards {
		n += len(s.shards[i].keys)
	}
	return n
}

func TestTableForgets(t *testing.T) {
	ctx := t.Context()
	opened, err := Driver{}.Open(ctx, drivers.Config{Wakes: true})
	if err != nil {
		t.Fatal(err)
	}
	svc := opened.(*service)
	heard := 0
	l, err := svc.Listen(ctx, func(string) { heard++ })
	if err != nil {
		t.Fatal(err)
	}
	step := func(what string, err error, keys int) {
		t.Helper()
		if n := svc.size(); err != nil || n != keys {
			t.Fatalf("%s: %v, and the table has %d keys; want %d", what, err, n, keys)
		}
	}
	step("listening to two keys", nil, 0)
	step("add", l.Add(ctx, "a"), 1)
	step("add", l.Add(ctx, "b"), 2)
	step("remove", l.Remove(ctx, "a"), 1)

	s := &session{service: svc}
	cycle := func() {
		t.Helper()
		lease := &drivers.Lease{Key: "b"}
		if held, err := s.Try(ctx, lease); !held || err != nil {
			t.Fatalf("Try answered %v, %v", held, err)
		}
		if owned, err := s.Release(ctx, lease); !owned || err != nil {
			t.Fatalf("Release answered %v, %v", owned, err)
		}
	}
	cycle()
	step("clean of a key that is listened to", svc.Clean(ctx, []string{"b"}), 1)
	cycle()
	if heard != 2 {
		t.Errorf("the listener heard %d of 2 releases, one before and one after Clean", heard)
	}
	step("close of a listener to a key with a fence", l.Close(), 1)
	step("clean", svc.Clean(ctx, []string{"b", "never used"}), 0)
	if err := l.Add(ctx, "c"); err == nil {
		t.Error("a closed listener accepts another key")
	}
	step("add to a closed listener", nil, 0)
}
