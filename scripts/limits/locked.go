package main

// For how long keys are locked: what lockbench infers from its record, and what a connection of its own sees in the server.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/view"
)

// load is a load whose keys are looked at.
type load struct {
	keys  int
	flags string
}

// loads differ in what a key's time is made of.
var loads = []load{
	{10, "-driver rueidis -clients 512 -wait backoff"},
	{10, "-driver rueidis -clients 64 -wait backoff -hold 1ms"},
	{10, "-driver rueidis -clients 64 -wait poll -poll 2ms -hold 5ms"},
	{3, "-driver rueidis -clients 32 -wait pubsub -hold 1ms"},
	{10, "-driver rueidis -clients 64 -wait queue -handover swap"},
	{10, "-driver rueidis -clients 64 -wait queue -handover swap -hold 1ms"},
	{10, "-driver rueidis -clients 64 -wait queue -handover release"},
	{100, "-driver go-redis -clients 64 -wait backoff -hold 1ms"},
	{1, "-driver go-redis -clients 8 -wait backoff -hold 5ms"},
	{4, "-driver rueidis -clients 32 -wait block -hold 1ms"},
	{4, "-driver rueidis -clients 32 -lock fair -wait native"},
	{10, "-driver redislock -clients 32 -hold 1ms"},
	{10, "-driver rueidislock -clients 32 -hold 1ms"},
	{10, "-driver rueidis -pipelining batch -clients 512 -wait backoff"},
	{10, "-driver rueidis -pipelining batch -clients 64 -wait queue -handover swap -hold 1ms"},
}

const (
	lookEvery = 500 * time.Microsecond // on average
	tolerance = 0.05                   // by which the two shares may differ
)

// compareLocked runs each load, and prints for how much of the time its keys were locked.
func compareLocked(ctx context.Context, out io.Writer, duration time.Duration) error {
	server, err := servers.StartRedis(ctx, servers.RedisOptions{})
	if err != nil {
		return err
	}
	defer server.Close()
	fmt.Fprintln(out, "locked by the record (held + changing hands) and by EXISTS: difference in points")
	apart := 0
	for _, l := range loads {
		inferred, said, seen, err := l.measure(ctx, server, duration)
		if err != nil {
			return fmt.Errorf("%s: %w", l.flags, err)
		}
		mark := "✓"
		if math.Abs(inferred-seen) > tolerance {
			mark = "✗"
			apart++
		}
		fmt.Fprintf(out, "%5.1f %%  %5.1f %%  %+5.1f %s  -keys %d %s\n    %s\n", 100*inferred, 100*seen, 100*(inferred-seen), mark, l.keys, l.flags, said)
	}
	if apart > 0 {
		return fmt.Errorf("%d of %d loads are apart by more than %.0f points", apart, len(loads), 100*tolerance)
	}
	return nil
}

// measure returns the share of time that keys were locked, by the record and by samples of the window.
func (l *load) measure(ctx context.Context, server *servers.Redis, duration time.Duration) (inferred float64, said string, seen float64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := newWitness(server.URL())
	if err != nil {
		return 0, "", 0, err
	}
	defer w.server.Close()
	samples := make(chan error, 1)
	go func() {
		err := w.watch(ctx, l.keys, duration/2, duration)
		samples <- err
	}()
	flags := fmt.Sprintf("%s -keys %d -addr %s", l.flags, l.keys, server.URL())
	c, err := cell(ctx, flags, "", duration)
	cancel()
	if err := errors.Join(err, <-samples); err != nil {
		return 0, "", 0, err
	}
	limit := c.Limit()
	return limit.Held + limit.Moving + limit.Dead, view.Limit(c), w.share(), nil
}

// witness looks at the keys in the server. It knows nothing of lockbench but how it names them.
type witness struct {
	server       *redis.Client
	looked, held int
}

func newWitness(url string) (*witness, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	return &witness{server: redis.NewClient(o)}, nil
}

// named is the name of a lock's key; rueidislock puts a number and a colon before it, as its own prefix.
var named = regexp.MustCompile(`^lockbench:[A-Z2-7]+:[0-9]+:([0-9]+:lockbench:[A-Z2-7]+:[0-9]+:)?[0-9]+$`)

// watch waits until each of the n keys has been locked once, and after warmup asks for all of them again and again, until duration
// has passed or ctx ends. The pauses between are random, as no period of the load is.
func (w *witness) watch(ctx context.Context, n int, warmup, duration time.Duration) error {
	keys := map[string]bool{}
	var from time.Time
	asked := context.WithoutCancel(ctx) // no request is given up when ctx ends
	for len(keys) < n || time.Since(from) < warmup {
		if ctx.Err() != nil {
			return errors.New("the run ended before each key was seen")
		}
		names, err := w.server.Keys(asked, "lockbench:*").Result()
		if err != nil {
			return err
		}
		for _, k := range names {
			if named.MatchString(k) {
				if len(keys) == 0 {
					from = time.Now()
				}
				keys[k] = true
			}
		}
		w.pause()
	}
	all := slices.Collect(maps.Keys(keys))
	for until := from.Add(warmup + duration); time.Now().Before(until) && ctx.Err() == nil; w.pause() {
		held, err := w.server.Exists(asked, all...).Result()
		if err != nil {
			return err
		}
		w.looked += n
		w.held += int(held)
	}
	return nil
}

func (w *witness) share() float64 { return float64(w.held) / float64(w.looked) }

func (w *witness) pause() { time.Sleep(time.Duration(rand.ExpFloat64() * float64(lookEvery))) }
