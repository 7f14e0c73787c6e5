// Package redislock drives github.com/bsm/redislock unchanged, over go-redis, and registers it as "redislock".
//
// The lock is one key with a token; an attempt and a release are one script each. The library waits (-wait native) by
// retrying according to its RetryStrategy, of which there are two.
package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	goredislib "github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
	"github.com/lockbench/lockbench/drivers/redis/goredis"
)

func init() { drivers.Register("redislock", driver{}) }

// Library implements drivers.Described. There is one more connection, for everything that is not a lock.
func (driver) Library() drivers.Library {
	return drivers.Library{
		Module: "github.com/bsm/redislock", Locks: true, Pipelining: []drivers.Pipelining{drivers.PipeliningOff},
		Conns: func(clients int, _ bool) int { return 1 + goredis.PoolSize(clients) },
	}
}

type driver struct{ redis.Addresses }

var design = drivers.Design{
	Name:   "library",
	Traits: drivers.Traits{Exclusive: true, Owned: true, Expires: true, Renews: true, Waits: true},
	Models: "github.com/bsm/redislock: SET key token NX PX ttl in a script, compare-and-delete, its own retry strategies",
	Wrong: "no fencing token: a holder that outlives its lease goes on beside the next; a fail-over, or a restart without " +
		"persistence, can grant it twice; waiters poll, so that the client that has just released comes first",
	Loses: []drivers.Hazard{
		drivers.HazardOverrun, drivers.HazardHolderPauses, drivers.HazardLateGrant, drivers.HazardServerClock,
		drivers.HazardOrphanWatchdog, drivers.HazardFailover, drivers.HazardRestartEmpty, drivers.HazardEviction,
	},
}

// Designs implements drivers.Driver.
func (driver) Designs() []drivers.Design { return []drivers.Design{design} }

// Params implements drivers.Parametrised.
func (driver) Params() []drivers.Param {
	return []drivers.Param{
		drivers.ChoiceParam("retry", "exponential",
			"how -wait native asks again", "linear", "exponential"),
		drivers.AgainParam(),
		drivers.TimeParam("retry-min", "16ms",
			"interval of linear, and the least of exponential (16ms is what the library advises)"),
		drivers.TimeParam("retry-max", "128ms", "the longest interval of exponential; 0s is no limit (the library has no "+
			"default: without jitter all waiters ask at the same moments, which without a limit are soon seconds apart)"),
	}
}

// Open implements drivers.Driver.
func (d driver) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	s, err := d.open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("redislock: %w", err)
	}
	return s, nil
}

func (d driver) open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	_, params, err := drivers.Chosen(d, cfg)
	if err != nil {
		return nil, err
	}
	retry, err := strategyOf(params)
	if err != nil {
		return nil, err
	}
	if err := cfg.OneServer(); err != nil {
		return nil, err
	}
	base, options, err := redis.OpenBase(ctx, goredis.Driver, cfg, nil)
	if err != nil {
		return nil, err
	}
	s := &service{Base: base, retry: retry, again: params.On("again")}
	for range max(1, cfg.Lockers) {
		client, err := goredis.NewClient(options[0])
		if err != nil {
			s.Close()
			return nil, err
		}
		s.Owns(client)
		s.lockers = append(s.lockers, locker{redislock.New(scripter{client}), redislock.New(stubScripter{scripter{client}})})
	}
	return s, nil
}

// strategyOf returns the function that makes the library's RetryStrategy of one wait; each wait needs its own, because
// they count.
func strategyOf(p drivers.ParamValues) (func() redislock.RetryStrategy, error) {
	low, high := p.Time("retry-min"), p.Time("retry-max")
	switch linear := p["retry"] == "linear"; {
	case linear && low == 0:
		return nil, errors.New("parameter retry-min=0s: retry=linear needs an interval, or it does not ask again")
	case linear:
		return func() redislock.RetryStrategy { return redislock.LinearBackoff(low) }, nil
	case high > 0 && high < low:
		return nil, fmt.Errorf("parameter retry-max=%v: must be at least retry-min, which is %v, or 0s", high, low)
	}
	return func() redislock.RetryStrategy { return redislock.ExponentialBackoff(low, high) }, nil
}

// locker is the library's client of one process.
type locker struct {
	*redislock.Client
	stub *redislock.Client // see stubScripter
}

type service struct {
	*redis.Base
	retry   func() redislock.RetryStrategy
	again   bool
	lockers []locker
}

// Session implements drivers.Service.
func (s *service) Session(_ context.Context, id int) (drivers.Session, error) {
	return &session{locker: s.lockers[id%len(s.lockers)], retry: s.retry, Tally: drivers.Tally{Again: s.again}}, nil
}

// Traits implements drivers.Service.
func (s *service) Traits() drivers.Traits { return design.Traits }

// Close implements drivers.Service.
func (s *service) Close() error { return fail("close", s.Base.Close()) }

func fail(op string, err error) error { return redis.Fail("redislock: "+op, goredis.Translate(err)) }

// scripter sends the library's requests without its limits: without a deadline of the caller's, the library gives a lock
// up after one TTL, also when a request is under way.
type scripter struct{ goredislib.Scripter }

// EvalSha implements redis.Scripter.
func (s scripter) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *goredislib.Cmd {
	return s.Scripter.EvalSha(redis.Caller(ctx), sha, keys, args...)
}

// Eval implements redis.Scripter.
func (s scripter) Eval(ctx context.Context, script string, keys []string, args ...any) *goredislib.Cmd {
	return s.Scripter.Eval(redis.Caller(ctx), script, keys, args...)
}

// stubScripter makes the library's Lock from a token without a request. The library itself makes one only from an
// answer, so that an attempt without an answer could not be released.
type stubScripter struct{ scripter }

// EvalSha answers the script that obtains a lock itself (the only one with three arguments) and passes the others on.
func (f stubScripter) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *goredislib.Cmd {
	if len(args) < 3 {
		return f.scripter.EvalSha(ctx, sha, keys, args...)
	}
	cmd := goredislib.NewCmd(ctx)
	cmd.SetVal("OK")
	return cmd
}

// lock returns the library's Lock for a lease, which may have none. An empty owner gets a new token.
func (k locker) lock(l *drivers.Lease) (*redislock.Lock, error) {
	if lock, ok := l.Aux.(*redislock.Lock); ok && lock.Key() == l.Key && lock.Token() == l.Owner {
		return lock, nil
	}
	return k.stub.Obtain(context.Background(), l.Key, time.Second, &redislock.Options{Token: l.Owner})
}

type session struct {
	locker
	owners drivers.Owners
	retry  func() redislock.RetryStrategy
	redis.WonLease
	drivers.Tally
}

// Try implements drivers.Session with one Obtain. It chooses the token, so that it is known before anything is sent;
// the library's tokens are of the same kind and length. It confirms what Wait has won.
func (s *session) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.Confirm(l) {
		return true, nil
	}
	l.Reset()
	l.Aux = nil
	l.Owner = s.owners.Next()
	lock, err := s.obtain(redis.Calling(ctx), l, nil)
	switch {
	case err == nil:
		l.Aux = lock
		return true, nil
	case errors.Is(err, redislock.ErrNotObtained):
		return false, nil
	}
	return false, fail("try", err)
}

func (s *session) obtain(ctx context.Context, l *drivers.Lease, retry redislock.RetryStrategy) (*redislock.Lock, error) {
	ttl, err := redis.WholeMillis(l.TTL)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.Obtain(ctx, l.Key, ttl, &redislock.Options{Token: l.Owner, RetryStrategy: retry})
}

// Release implements drivers.Session.
func (s *session) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	lock, err := s.lock(l)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = lock.Release(redis.Calling(ctx))
	}
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, redislock.ErrLockNotHeld):
		return false, nil
	}
	return false, fail("release", err)
}

// Renew implements drivers.Renewer.
func (s *session) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	ttl, err := redis.WholeMillis(l.TTL)
	if err != nil {
		return false, fail("renew", err)
	}
	lock, err := s.lock(l)
	sent := time.Now()
	if err == nil {
		err = lock.Refresh(redis.Calling(ctx), ttl, nil)
	}
	switch {
	case err == nil:
		l.ValidUntil = sent.Add(l.TTL) // Wait has set an earlier one
		return true, nil
	case errors.Is(err, redislock.ErrNotObtained):
		return false, nil
	}
	return false, fail("renew", err)
}

// Wait implements drivers.Waiter with one Obtain that retries for as long as the library does: until the strategy gives
// up, until the deadline, or for a TTL if there is none.
func (s *session) Wait(ctx context.Context, l *drivers.Lease) error {
	return s.Calls(func() error { return s.call(ctx, l) })
}

func (s *session) call(ctx context.Context, l *drivers.Lease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	limited, cancel, over := redis.UntilDeadline(ctx, l)
	if over {
		return nil
	}
	defer cancel()
	own := drivers.Lease{Key: l.Key, TTL: l.TTL, Owner: s.owners.Next()}
	retry := &timed{s.retry(), &s.Tally, time.Now()}
	lock, err := s.obtain(limited, &own, retry)
	switch {
	case err == nil:
		s.Asked(false)
		own.Aux, own.ValidUntil = lock, retry.next.Add(l.TTL)
		s.Win(own)
		return nil
	case errors.Is(err, redislock.ErrNotObtained), err == context.DeadlineExceeded && ctx.Err() == nil:
		if l.Deadline.IsZero() {
			return drivers.ErrGaveUp // between two requests
		}
		return nil
	}
	s.Asked(false)
	redis.Undo(ctx, s, &own)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fail("wait", err)
}

// timed is a strategy that counts the attempts, and notes when the library's next one begins at the earliest.
type timed struct {
	redislock.RetryStrategy
	tally *drivers.Tally
	next  time.Time
}

func (t *timed) NextBackoff() time.Duration {
	t.tally.Asked(true)
	d := t.RetryStrategy.NextBackoff()
	t.next = time.Now().Add(d)
	return d
}

// Leave implements drivers.Waiter: it releases what Wait has won and no Try has confirmed.
func (s *session) Leave(ctx context.Context, _ *drivers.Lease) error { return s.GiveBack(ctx, s) }
