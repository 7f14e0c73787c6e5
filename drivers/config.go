package drivers

import (
	"crypto/tls"
	"fmt"
	"io"
	"time"
)

// Config is all that Open needs to know. Its zero value of every field but Lock means "the usual".
type Config struct {
	Lock string // the design, one of Designs()

	// Addrs are the addresses of the service in the service's own spelling: host:port, a unix socket's path
	// (unix:///…), or a URL. A URL may carry user, password and database number; the fields below take precedence.
	Addrs    []string
	Username string
	Password Secret
	Database string      // number or name, as the service has it
	TLS      *tls.Config // nil: no TLS, unless the URL's scheme asks for it
	Embedded bool        // the server is the in-process stand-in, which lacks a few commands

	Prefix  string // every name that the driver makes up (channels, counters) begins with it
	Clients int    // how many sessions will be opened
	Wakes   bool   // releases have to wake subscribers (Traits.Wakes); without it that cost is not paid

	Conns      int           // connections of the pool; 0 is the client library's own default
	Pipelining Pipelining    // whether concurrent commands share a connection
	FlushDelay time.Duration // how long a pipelining client collects commands before it writes; 0 is none

	// IOTimeout bounds one request on the wire (and one connection attempt), for requests whose context
	// has no earlier deadline; 0 means DefaultIOTimeout.
	IOTimeout time.Duration
}

// DefaultIOTimeout is the time after which an unanswered request counts as unknown. It is go-redis's own default
// for reading a reply.
const DefaultIOTimeout = 3 * time.Second

// IO is IOTimeout with its default filled in.
func (c Config) IO() time.Duration {
	if c.IOTimeout > 0 {
		return c.IOTimeout
	}
	return DefaultIOTimeout
}

// Pipelining chooses whether a client library sends commands of several goroutines over a shared connection.
type Pipelining string

const (
	PipeliningDefault Pipelining = ""     // as the library ships
	PipeliningAuto    Pipelining = "auto" // the library batches concurrent commands by itself
	PipeliningOff     Pipelining = "off"  // one command at a time on a connection
)

// Secret is a string that prints as "***" wherever it is printed or marshalled by mistake. Convert it to a string
// to use it.
type Secret string

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// Format keeps every verb from showing the secret. String alone would not do: fmt does not ask a Stringer for %d and
// the like, and shows the value in its complaint. (For %p and a misplaced %w it asks nobody; go vet refuses those.)
func (s Secret) Format(f fmt.State, verb rune) {
	if verb == 'q' || verb == 'v' && f.Flag('#') {
		io.WriteString(f, `"`+s.String()+`"`)
		return
	}
	io.WriteString(f, s.String())
}

// MarshalText keeps JSON and YAML from showing the secret.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
