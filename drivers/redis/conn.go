// The interface between the designs and a client library, and its errors.
package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/lockbench/lockbench/drivers"
)

// Conn is what a design needs from a client library: a client, pooled or multiplexed. It is safe for concurrent use.
type Conn interface {
	// Do sends one command, once, and returns its reply. args[0] is the command's name in capitals and args[key] its
	// first key, which chooses the connection or node; key 0 means that there is none. Do copies args before it
	// returns, whether it succeeds or not: the caller reuses the slice. An error reply is a ServerError.
	Do(ctx context.Context, args []string, key int) (Reply, error)

	// Send sends the commands to a single server in one write, on a connection that nobody else uses meanwhile, and
	// sets the Reply or the Err of each. It copies their Args.
	Send(ctx context.Context, commands []Command)

	// Subscribe opens a connection that receives publications. message is called from one goroutine, in order, and does
	// not block. ctx bounds only the opening.
	Subscribe(ctx context.Context, message func(channel, payload string)) (Subscription, error)

	// Close ends every connection and goroutine. Subscriptions must be closed before.
	Close() error
}

// Command is a command and its answer.
type Command struct {
	Args  []string // the command's name in capitals first
	Reply Reply
	Err   error // a ServerError if it is an error reply
}

// Subscription is one connection in subscribing mode. It is safe for concurrent use. It ends with its connection; for
// another one, subscribe again.
type Subscription interface {
	Add(ctx context.Context, channels ...string) error    // returns when the server has confirmed all of them
	Remove(ctx context.Context, channels ...string) error // need not wait for the server
	Done() <-chan struct{}                                // closed when no more messages will come
	Close() error
}

// Closed is the error of a Conn or Subscription that was closed.
var Closed error = &drivers.Error{Class: drivers.ClassClosed, Op: "use", Err: net.ErrClosed}

// Reply is the server's answer to one command. It has four words, the most that the compiler keeps in registers through
// the calls of an operation.
type Reply struct {
	kind *replyKind // nil is the nil reply
	n    int64
	text string
}

// replyKind is one of the kinds below, or belongs to an array.
type replyKind struct {
	name  string
	items []Reply
}

var (
	textReply = &replyKind{name: "a string"}
	intReply  = &replyKind{name: "an integer"}
)

const arrayName = "an array"

// Nil, Text, Int and Array make replies; the status +OK is a Text, like a bulk string.
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

// ServerError is the text of an error reply, including its leading code: "NOAUTH Authentication required.".
//
// An error reply means that the request had no effect. That includes replies from inside a script, because scripts
// change a lock with their last command; see Script.
type ServerError string

// refusals are the codes of a server that takes no writes, and what helps.
var refusals = map[string]struct {
	class  drivers.Class
	remedy string
}{
	"OOM":        {drivers.ClassFull, "raise maxmemory, or delete other keys"},
	"READONLY":   {drivers.ClassReadOnly, "give the address of the primary (-addr)"},
	"NOREPLICAS": {drivers.ClassReadOnly, "start the replicas, or lower min-replicas-to-write"},
	"MISCONF":    {drivers.ClassReadOnly, "make room for snapshots, or set stop-writes-on-bgsave-error to no"},
}

// NewServerError returns the error for an error reply, with the remedy if that is known. A server that does not know a
// command quotes its arguments, and those of AUTH and HELLO are passwords, so the quotation is cut off.
func NewServerError(text string) ServerError {
	text, _, _ = strings.Cut(text, ", with args beginning with")
	if script, reason, ok := strings.Cut(text, ": -"); ok && strings.HasPrefix(script, "ERR Error running script") {
		text = reason // before Redis 7
	}
	e := ServerError(text)
	remedy := refusals[e.Code()].remedy
	if e.refusesName() {
		remedy = drivers.PrefixRemedy
	}
	if remedy != "" {
		e = ServerError(strings.TrimSuffix(text, ".") + ": " + remedy)
	}
	return e
}

func (e ServerError) Error() string { return string(e) }

// Code returns the first word of the error: "ERR", "NOSCRIPT", "WRONGPASS", …
func (e ServerError) Code() string {
	code, _, _ := strings.Cut(string(e), " ")
	return code
}

// Class returns the class of a server that takes no writes, ClassAuth for wrong or missing credentials and permissions,
// and ClassServer for everything else.
func (e ServerError) Class() drivers.Class {
	code := e.Code()
	switch code {
	case "NOAUTH", "WRONGPASS", "NOPERM":
		return drivers.ClassAuth
	case "ERR":
		// What a script must not do has no code of its own.
		if strings.HasPrefix(string(e), "ERR The user executing the script can't ") || strings.HasPrefix(string(e), "ERR ACL failure in script") {
			return drivers.ClassAuth
		}
	}
	return cmp.Or(refusals[code].class, drivers.ClassServer)
}

// refusesName reports whether the user may use the command, but not the key or the channel.
func (e ServerError) refusesName() bool {
	return e.Class() == drivers.ClassAuth && (strings.Contains(string(e), " key") || strings.Contains(string(e), " channel"))
}

// fail wraps err with the operation and a class; nil stays nil.
func fail(op string, err error) error { return Fail("redis: "+op, err) }

// Fail wraps err with the operation, of a lock library or of this package, and a class; nil stays nil. A client library's own
// errors must be translated before.
func Fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &drivers.Error{Class: classOf(err), Op: op, Err: err}
}

func classOf(err error) drivers.Class {
	if e, ok := asServerError(err); ok {
		return e.Class()
	}
	return drivers.ClassOf(err)
}

// Leaving counts the channels that a sharded subscription was told to leave. The server also removes them itself, with
// the same message, when their slot moves to another node. The zero value is ready; it is safe for concurrent use.
type Leaving struct {
	mu     sync.Mutex
	counts map[string]int
}

// Expect must be called before the channels are left.
func (l *Leaving) Expect(channels []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil {
		l.counts = map[string]int{}
	}
	for _, channel := range channels {
		l.counts[channel]++
	}
}

// Expected records the server's message and reports whether it was requested.
func (l *Leaving) Expected(channel string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts[channel] == 0 {
		return false
	}
	if l.counts[channel]--; l.counts[channel] == 0 {
		delete(l.counts, channel)
	}
	return true
}
