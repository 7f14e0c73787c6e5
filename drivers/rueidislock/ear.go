// What the library does not tell: it makes the token of a lock itself and keeps it, and throws the answer to a release
// away. Both pass through its client, which may be wrapped.
package rueidislock

import (
	"context"
	"strings"
	"sync"

	rueidislib "github.com/redis/rueidis"
)

// ear is the library's client, listening to its scripts. Whatever else a client can do is passed on.
type ear struct {
	rueidislib.Client
	holds sync.Map // token → *hold, from the attempt to the release
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

// owner is the token of the latest attempt.
func (h *hold) owner() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.token
}

// takenBack tells whether the server has confirmed that nothing is left of the attempt.
func (h *hold) takenBack() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.heard > 0 && h.err == nil
}

// answer is what the releases have said.
func (h *hold) answer() (removed int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.removed, h.err
}
