// What the library hides: it makes the token of a lock itself, and drops the answer to a release. Both pass through its
// client, which can be wrapped.
package rueidislock

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	rueidislib "github.com/redis/rueidis"

	"github.com/lockbench/lockbench/drivers"
)

// interceptor wraps the library's client to see its scripts. It passes all else on.
type interceptor struct {
	rueidislib.Client
	holds   sync.Map      // token → *hold, from the attempt to the release
	ahead   time.Duration // Config.ClockOffset
	lockers int           // of the process
}

// hold is one acquisition, from its first attempt on.
type hold struct {
	ctx context.Context    // ends when the lock is lost
	end context.CancelFunc // releases it, and returns when the library has

	asked func(refused bool) // counts attempts

	mu      sync.Mutex
	token   string
	heard   bool  // a release was answered
	removed bool  // a release has deleted the key
	err     error // of a release without an answer
}

// holdOf is the context key of the hold, for attempts and renewals. Releases run without their caller's context, which
// distinguishes them.
type holdOf struct{}

// Do implements rueidis.Client. The library only sends [EVALSHA or EVAL, script, 1, key, token, …].
func (e *interceptor) Do(ctx context.Context, cmd rueidislib.Completed) rueidislib.RedisResult {
	args := cmd.Commands()
	if len(args) < 5 || !strings.HasPrefix(args[0], "EVAL") {
		return e.Client.Do(ctx, cmd)
	}
	token := args[4] // copied before the client takes args back
	cmd = e.dated(cmd, args)
	if h, ok := ctx.Value(holdOf{}).(*hold); ok {
		drivers.Shuffle(e.lockers)
		first := e.expect(h, token)
		result := e.Client.Do(ctx, cmd)
		if first { // in the goroutine of the call; NOSCRIPT and renewals have the same token again
			h.asked(rueidislib.IsRedisNil(result.Error()))
		}
		return result
	}
	result := e.Client.Do(ctx, cmd)
	if h, ok := e.holds.Load(token); ok {
		h.(*hold).released(result)
	}
	return result
}

// dated returns a script as a client sends it whose clock is wrong. The library reads its clock only to say when a lease ends, in
// milliseconds since 1970; a number that is no such time is a TTL.
func (e *interceptor) dated(cmd rueidislib.Completed, args []string) rueidislib.Completed {
	if e.ahead == 0 || len(args) < 6 {
		return cmd
	}
	end, err := strconv.ParseInt(args[5], 10, 64)
	if err != nil || end < time.Now().UnixMilli()/2 {
		return cmd
	}
	args = slices.Clone(args)
	args[5] = strconv.FormatInt(end+e.ahead.Milliseconds(), 10)
	return e.B().Arbitrary(args...).Build()
}

// expect records the token of an attempt before it is sent. One wait makes many attempts, each with a new token.
// It reports whether the token is new.
func (e *interceptor) expect(h *hold, token string) (first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.token == token {
		return false
	}
	if h.token != "" {
		e.holds.Delete(h.token)
	}
	h.token, h.heard, h.removed, h.err = token, false, false, nil
	e.holds.Store(token, h)
	return true
}

// released records the answer to a release.
func (h *hold) released(result rueidislib.RedisResult) {
	n, err := result.AsInt64()
	h.mu.Lock()
	defer h.mu.Unlock()
	if server, ok := rueidislib.IsRedisErr(err); ok && server.IsNoScript() {
		return // it is sent again with its source
	}
	if err != nil {
		h.err = err
		return
	}
	h.heard = true
	h.removed = h.removed || n > 0
}

func (e *interceptor) forget(h *hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.holds.Delete(h.token)
}

// owner returns the token of the latest attempt.
func (h *hold) owner() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.token
}

// answer returns the result of the releases.
func (h *hold) answer() (heard, removed bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.heard, h.removed, h.err
}
