package guard

// The commands in a stream to a server, which are arrays of strings, and those whose replies a guard has to check. Each has to
// be found: a guard that counts too few rejects a valid reply, and one that counts too many passes an invalid one on.

import (
	"bytes"
	"strings"
)

// command handles each command whose arguments are scanned one by one.
func (g *guard) command() error {
	s := &g.commands
	s.answered++
	name, sub := s.elements[0].bytes(), ""
	if s.count > 1 {
		sub = string(s.elements[1].bytes())
	}
	if judged(name) {
		g.expect(strings.ToUpper(string(name)), sub, int64(s.count))
	}
	return nil
}

// unjudged returns the length of the command at the beginning of b if it is whole and its reply needs no check,
// otherwise 0. Nearly all commands are of this kind, and reading them at once takes two thirds of the time.
func unjudged(b []byte) int {
	args, i := length(b, 0)
	if i > len(b) {
		return 0
	}
	for arg := range args {
		size, from := length(b, i)
		end := from + size + len("\r\n")
		if size < 0 || end > len(b) || arg == 0 && judged(b[from:from+size]) {
			return 0
		}
		i = end
	}
	return i
}

// length reads the number in the head at b[i] and returns where the next bytes begin, which is beyond b if the head is
// not whole.
func length(b []byte, i int) (n, next int) {
	for i++; i < len(b); i++ {
		if b[i] == '\r' {
			return n, i + len("\r\n")
		}
		n = 10*n + int(b[i]-'0')
	}
	return 0, len(b) + 1
}

// judged reports whether the guard has to check the reply to the command.
func judged(name []byte) bool {
	switch len(name) {
	case len("PING"):
		return bytes.EqualFold(name, []byte("PING")) || bytes.EqualFold(name, []byte("ROLE"))
	case len("HELLO"):
		return bytes.EqualFold(name, []byte("HELLO"))
	case len("SENTINEL"):
		return bytes.EqualFold(name, []byte("SENTINEL"))
	case len("SUBSCRIBE"), len("PSUBSCRIBE"), len("UNSUBSCRIBE"), len("PUNSUBSCRIBE"): // also sharded ones
		return bytes.EqualFold(name[len(name)-len("SUBSCRIBE"):], []byte("SUBSCRIBE"))
	}
	return false
}
