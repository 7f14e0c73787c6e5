package drivers

// Requests of many sessions in one write.

import (
	"context"
	"io"
)

// Batcher is a Service that can send the requests of many of its sessions together, for a harness that carries many clients
// in one goroutine. It can if Config.Pipelining is PipeliningBatch.
type Batcher interface {
	// Batch opens a way to the server of its own. The error says what the design does that a batch cannot.
	Batch(ctx context.Context) (Batch, error)
}

// Batch sends requests together. One goroutine uses it at a time.
type Batch interface {
	// Do sends the requests in their order, in as few writes as possible, and returns when each has its answer: what the
	// session's own method would have returned. No session has two requests among them, nor uses its own methods meanwhile.
	// If the connection breaks, those without an answer have an error, and the next Do connects again.
	Do(ctx context.Context, requests []Request)

	io.Closer
}

// Request is one call of a Session's method.
type Request struct {
	Session Session // of the Service that the Batch is of, not of another one and not wrapped
	Op      Op
	Lease   *Lease
	To      *Lease // of OpPass

	Yes bool // the answer, as the method returns it
	Err error
}

// Op is a method of a Session.
type Op uint8

const (
	OpTry Op = iota
	OpRelease
	OpRenew // of a Renewer
	OpPass  // of a Passer, to To
)

// Call calls the method.
func (r *Request) Call(ctx context.Context) {
	switch r.Op {
	case OpTry:
		r.Yes, r.Err = r.Session.Try(ctx, r.Lease)
	case OpRelease:
		r.Yes, r.Err = r.Session.Release(ctx, r.Lease)
	case OpRenew:
		r.Yes, r.Err = r.Session.(Renewer).Renew(ctx, r.Lease)
	case OpPass:
		r.Yes, r.Err = r.Session.(Passer).Pass(ctx, r.Lease, r.To)
	}
}

// InTurn is a Batch of sessions that never wait, such as those without a server: it calls one after the other.
type InTurn struct{}

// Do implements Batch.
func (InTurn) Do(ctx context.Context, requests []Request) {
	for i := range requests {
		requests[i].Call(ctx)
	}
}

// Close implements Batch.
func (InTurn) Close() error { return nil }
