// What the library does not tell: it makes the token of a lock itself and keeps it, and throws the answer to a release
// away. Both pass through its client, which may be wrapped.
package rueidislock

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	rueidislib "github.com/redis/rueidis"

	"github.com/lockbench/lockbench/drivers/redis"
)

// ear is the library's client, listening to its scripts. Whatever else a client can do is passed on.
type ear struct {
	rueidislib.Client
	holds  sync.Map // token → *hold, from the attempt to the release
	prefix string   // of the locks' keys
	keys   int      // of each lock
	breach atomic.Pointer[error]
}

// checked returns onInvalidations for a server that is not trusted: the library indexes with the number in a key, and panics
// over a key that is nothing but the prefix. After such a key all commands fail.
func (e *ear) checked(onInvalidations func([]rueidislib.RedisMessage)) func([]rueidislib.RedisMessage) {
	return func(keys []rueidislib.RedisMessage) {
		for _, m := range keys {
			key, _ := m.ToString()
			if rest, ours := strings.CutPrefix(key, e.prefix); ours && !e.valid(rest) {
				err := redis.Unexpected(fmt.Sprintf("the server says that the key %.100q has changed, which is of no lock", key))
				e.breach.Store(&err)
				onInvalidations(nil) // wakes whoever waits
				return
			}
		}
		onInvalidations(keys)
	}
}

// valid reports whether a lock has a key of which rest is behind the prefix, ":NUMBER:NAME".
func (e *ear) valid(rest string) bool {
	parts := strings.SplitN(rest, ":", 3)
	if len(parts) != 3 || parts[0] != "" {
		return false
	}
	n, err := strconv.Atoi(parts[1])
	return err == nil && n >= 0 && n < e.keys
}

// hold is one acquisition, from its first attempt on.
type hold struct {
	ctx context.Context    // ends when the lock is lost
	end context.CancelFunc // gives it up, and returns when the library has

	mu      sync.Mutex // several keys of a lock are released at once
	token   string
	heard   int   // answers to releases
	removed int   // keys that a release found to be ours
	err     error // of a release that had no answer
}

// holdOf is the key of the hold in the contexts of attempts and renewals. Releases run without their caller's context,
// which tells them from the others.
type holdOf struct{}

// Do implements rueidis.Client. All that the library sends is [EVALSHA or EVAL, script, 1, key, token, …].
func (e *ear) Do(ctx context.Context, cmd rueidislib.Completed) rueidislib.RedisResult {
	if err := e.breach.Load(); err != nil {
		return rueidislib.NewErrorResult(*err)
	}
	args := cmd.Commands()
	if len(args) < 5 || !strings.HasPrefix(args[0], "EVAL") {
		return e.Client.Do(ctx, cmd)
	}
	token := args[4] // copied before the client takes args back
	if h, ok := ctx.Value(holdOf{}).(*hold); ok {
		e.expect(h, token)
		return e.Client.Do(ctx, cmd)
	}
	result := e.Client.Do(ctx, cmd)
	if h, ok := e.holds.Load(token); ok {
		h.(*hold).released(result)
	}
	return result
}

// expect notes the token of an attempt before it is sent. One wait makes many attempts, each with a new token.
func (e *ear) expect(h *hold, token string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.token == token {
		return
	}
	if h.token != "" {
		e.holds.Delete(h.token)
	}
	h.token, h.heard, h.removed, h.err = token, 0, 0, nil
	e.holds.Store(token, h)
}

// released notes the answer to the release of one key.
func (h *hold) released(result rueidislib.RedisResult) {
	n, err := result.AsInt64()
	h.mu.Lock()
	defer h.mu.Unlock()
	if server, ok := rueidislib.IsRedisErr(err); ok && server.IsNoScript() {
		return // it is sent again with its text
	}
	if err != nil {
		h.err = err
		return
	}
	h.heard++
	h.removed += int(n)
}

// forget ends the listening.
func (e *ear) forget(h *hold) {
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

// takenBack reports whether the server has confirmed that nothing is left of the attempt.
func (h *hold) takenBack() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.heard > 0 && h.err == nil
}

// answer returns what the releases have said.
func (h *hold) answer() (removed int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.removed, h.err
}
