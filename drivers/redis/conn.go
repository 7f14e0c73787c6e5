// The seam between the designs and a client library.
package redis

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/lockbench/lockbench/drivers"
)

// Conn is what a design needs of a client library: a client, pooled or multiplexed as the library has it. It is safe
// for concurrent use.
type Conn interface {
	// Do sends one command, once, and returns its reply. args[0] is the command's name in capitals and args[key]
	// its first key, by which a library chooses a connection or a node; key 0 says that there is none. Do copies
	// args before it returns, whether it succeeds or not: the caller reuses the slice. An error reply is a
	// ServerError.
	Do(ctx context.Context, args []string, key int) (Reply, error)

	// Dedicated lends f a connection that nobody else uses meanwhile, to the server that has key. What f leaves open
	// on it (a WATCH, a MULTI) would be the next user's: it cleans up, unless the connection is broken.
	Dedicated(ctx context.Context, key string, f func(Link) error) error

	// Subscribe opens a connection that receives what is published. message is called from one goroutine, in
	// order, and does not block. ctx bounds only the opening.
	Subscribe(ctx context.Context, message func(channel, payload string)) (Subscription, error)

	// Close ends every connection and goroutine. Subscriptions are closed before it is called.
	Close() error
}

// Link is one connection. One goroutine uses it.
type Link interface {
	// Send sends commands in one go, and returns their replies, as many as there are commands. The error is the first
	// that any of them has met with.
	Send(ctx context.Context, commands ...[]string) ([]Reply, error)
}

// Subscription is one connection in subscribing mode. It is safe for concurrent use. It ends with its connection:
// whoever wants another one opens it.
type Subscription interface {
	Add(ctx context.Context, channels ...string) error    // returns when the server has confirmed all of them
	Remove(ctx context.Context, channels ...string) error // need not wait for the server
	Done() <-chan struct{}                                // closed when no more messages will come
	Close() error
}

// Closed is the error of a Conn or Subscription that is used after it was closed.
var Closed error = &drivers.Error{Class: drivers.ClassClosed, Op: "use", Err: net.ErrClosed}

// Reply is what a server answers to one command. It is four words, which is the most that the compiler still keeps in
// registers on the way through the calls of an operation.
type Reply struct {
	kind *replyKind // nil is the nil reply
	n    int64
	text string
}

// replyKind is one of the kinds below, or an array's own.
type replyKind struct {
	name  string
	items []Reply
}

var (
	textReply = &replyKind{name: "a string"}
	intReply  = &replyKind{name: "an integer"}
)

const arrayName = "an array"

// Nil, Text, Int and Array make replies; the status +OK is a Text like a bulk string is.
func Nil() Reply                 { return Reply{} }
func Text(s string) Reply        { return Reply{kind: textReply, text: s} }
func Int(n int64) Reply          { return Reply{kind: intReply, n: n} }
func Array(items ...Reply) Reply { return Reply{kind: &replyKind{name: arrayName, items: items}} }

// AsInt returns the integer of the reply; any other kind is an error of class protocol.
func (r Reply) AsInt() (int64, error) {
	if r.kind != intReply {
		return 0, r.unexpected("an integer")
	}
	return r.n, nil
}

// AsText returns the string of the reply; any other kind is an error of class protocol.
func (r Reply) AsText() (string, error) {
	if r.kind != textReply {
		return "", r.unexpected("a string")
	}
	return r.text, nil
}

// AsArray returns the elements of the reply; any other kind is an error of class protocol.
func (r Reply) AsArray() ([]Reply, error) {
	if r.kind == nil || r.kind.name != arrayName {
		return nil, r.unexpected(arrayName)
	}
	return r.kind.items, nil
}

func (r Reply) unexpected(want string) error {
	got := "nil"
	if r.kind != nil {
		got = r.kind.name
	}
	return Unexpected(fmt.Sprintf("got %s where %s was due", got, want))
}

// Unexpected returns the error for a reply that makes no sense.
func Unexpected(what string) error {
	return &drivers.Error{Class: drivers.ClassProtocol, Op: "reply", Err: errors.New(what)}
}
