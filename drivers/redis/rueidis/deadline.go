// Deadlines of commands that share a connection.
//
// On a shared connection that has never carried two commands at once, the library (v1.0.79, pipe.go) sends a command and
// reads its reply in the caller's goroutine. If that one command exceeds its deadline, the library closes the connection
// and fails all commands that were waiting behind it with the same error. So a command with a deadline is given to the
// library's background goroutines, which abandon it alone; see undated. The library's AlwaysPipelining does that for
// every command, but a lone client, which the direct way is made for, pays for it: 0.83 of the throughput, 1.20 times the
// median latency and 1.35 times the CPU time a command (SET over a Unix socket, medians of the ratios of 41 interleaved
// pairs on two busy cores). From 8 clients on all commands take the background goroutines anyway: 0.98, 0.95 and 0.88 of
// the throughput with 8, 64 and 512 clients, within the scatter of the pairs.
package rueidis

import (
	"context"
	"time"
)

// undated is a context without its deadline: it ends at the same time, but nobody can tell beforehand. A command whose
// context can end at an unknown time is what the library never sends in the caller's goroutine.
type undated struct{ context.Context }

// Deadline implements context.Context.
func (undated) Deadline() (time.Time, bool) { return time.Time{}, false }

// apart returns the context of a command whose deadline must not become that of the commands behind it.
func (c *conn) apart(ctx context.Context) context.Context {
	if _, dated := ctx.Deadline(); dated && !c.pooled {
		return undated{ctx}
	}
	return ctx
}
