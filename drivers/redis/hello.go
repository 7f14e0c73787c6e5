// Client libraries begin with HELLO, on which proxies hang up.
package redis

import (
	"net"
	"regexp"
	"slices"
)

// hello is the command as the libraries send it in their first write: go-redis by itself, perhaps with a login; rueidis, for version 2
// of the protocol, without one, after AUTH.
var hello = regexp.MustCompile(`(?is)\*[25]\r\n\$5\r\nhello\r\n\$1\r\n[23]\r\n(\$4\r\nauth\r\n.*)?`)

// helloless is a connection that sends no HELLO. It answers in the server's place that the command is unknown, as servers before
// Redis 6.0 do: then the library goes on without.
type helloless struct {
	net.Conn
	begun  bool
	after  int    // as many lines of the server, the reply to AUTH,…
	answer string // …this is due
}

// Write implements net.Conn.
func (c *helloless) Write(b []byte) (int, error) {
	var at []int
	if !c.begun {
		at = hello.FindIndex(b)
	}
	if c.begun = true; at == nil {
		return c.Conn.Write(b)
	}
	c.after, c.answer = min(at[0], 1), "-ERR unknown command 'HELLO'\r\n"
	if rest := slices.Concat(b[:at[0]], b[at[1]:]); len(rest) > 0 {
		if _, err := c.Conn.Write(rest); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// Read implements net.Conn.
func (c *helloless) Read(b []byte) (int, error) {
	switch {
	case c.answer == "":
		return c.Conn.Read(b)
	case c.after > 0:
		n, err := c.Conn.Read(b[:1])
		if n == 1 && b[0] == '\n' {
			c.after--
		}
		return n, err
	}
	n := copy(b, c.answer)
	c.answer = c.answer[n:]
	return n, nil
}
