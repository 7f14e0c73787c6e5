package main

import (
	"context"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// TestWitness: a look counts those keys of locks that are there, and no others.
func TestWitness(t *testing.T) {
	server := servertest.Redis(t, servers.RedisOptions{})
	w, err := newWitness(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer w.server.Close()
	const run = "lockbench:PACZPLSB7F5ZTHAP:1:"
	for _, name := range []string{run + "0", run + "0:" + run + "1", run + "1:tokens", "mine:1"} {
		if err := w.server.Set(t.Context(), name, "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.watch(t.Context(), 2, 0, 50*time.Millisecond); err != nil || w.looked == 0 || w.share() != 1 {
		t.Errorf("two of two keys: %d of %d looks, %v", w.held, w.looked, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.watch(ctx, 3, 0, time.Hour); err == nil {
		t.Error("a third key was seen")
	}
}
