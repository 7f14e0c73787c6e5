// Deadlines of commands that share a connection.
//
// On a shared connection that has never carried two commands at once, the library (v1.0.79, pipe.go) sends a command
// and reads its reply in the caller's goroutine. If that command exceeds its deadline, the library closes the
// connection and fails all commands waiting behind it with the same error. So a command with a deadline goes to the
// library's background goroutines, which abandon it alone; see noDeadline. AlwaysPipelining would do that for every
// command, and slow down a single client.
package rueidis

import (
	"context"
	"time"
)

// noDeadline is a context that hides its deadline: it ends at the same time, but that is unknown before. The library
// never sends a command in the caller's goroutine if its context can end at an unknown time.
type noDeadline struct{ context.Context }

// Deadline implements context.Context.
func (noDeadline) Deadline() (time.Time, bool) { return time.Time{}, false }

// hideDeadline returns a context for a command whose deadline must not apply to the commands behind it.
func (c *conn) hideDeadline(ctx context.Context) context.Context {
	if _, dated := ctx.Deadline(); dated && !c.pooled {
		return noDeadline{ctx}
	}
	return ctx
}
