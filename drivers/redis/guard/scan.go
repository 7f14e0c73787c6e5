package guard

// Where each reply or command in a stream ends, and whether a client library may get it.

import (
	"bytes"
	"fmt"

	"github.com/lockbench/lockbench/drivers"
)

// The limits of a reply. The largest from a single server is INFO, with some 20 kB. A cluster whose slots are scattered
// answers CLUSTER SLOTS with 16,384 rows, which weigh some 30 MB.
const (
	maxWeight        = 1 << 20
	maxWeightCluster = 64 << 20
	elementWeight    = 64 // what a client library allocates for an array element, in bytes
	maxNesting       = 16
	maxLine          = 16 << 10 // longer than any error message
)

// scanner follows a stream of replies, or of commands. It is strict: the scanner and the library behind it must agree on where
// a value ends, so anything ambiguous is an error.
type scanner struct {
	limit int64              // of a reply's weight: its bytes, and elementWeight per element
	ended func() error       // called at the end of each reply
	short func(b []byte) int // the length of a known reply at the beginning of b that need not be read in parts, or 0

	answered int64 // replies so far that answer a command; or commands
	known    int64 // those up to this one were requested and need no check

	part   []byte // the beginning of an incomplete line
	rest   int64  // bytes of a string that have not come, including CRLF
	nested int
	left   [maxNesting]int64 // elements that have not come, for each open array

	// The current reply, or in ended the complete one:
	weight   int64
	kind     byte       // its first byte, or '_' for a null of version 2
	message  []byte     // the text of a simple string or an error
	count    int        // elements of the array so far
	elements [5]element // the first four, and the latest
	mixed    bool       // an array in the array has an element that is not a string
	proto    string     // the number that follows "proto" in the array
}

// element is what the guard needs to know of an array element.
type element struct {
	kind   byte // as scanner.kind
	spaces int  // in a string
	size   int  // of text
	text   [32]byte
}

func (e *element) isString() bool { return e.kind == '$' || e.kind == '+' }

// bytes returns the beginning of a string.
func (e *element) bytes() []byte { return bytes.TrimRight(e.text[:e.size], "\r\n") }

// is reports whether the element is the string text, which is shorter than 31 bytes.
func (e *element) is(text string) bool { return e.isString() && string(e.bytes()) == text }

// add appends the next piece of a string.
func (e *element) add(piece []byte) {
	e.size += copy(e.text[e.size:], piece)
	e.spaces += bytes.Count(piece, []byte(" "))
}

// latest returns the latest element of the array.
func (s *scanner) latest() *element { return &s.elements[min(s.count, len(s.elements))-1] }

// scan reads the next piece of the stream. It returns how many bytes may be passed on, and an error if that is not all.
func (s *scanner) scan(b []byte) (int, error) {
	for i := 0; i < len(b); {
		if s.rest > 0 {
			n := int(min(s.rest, int64(len(b)-i)))
			if s.nested == 1 {
				s.latest().add(b[i : i+n])
			}
			i += n
			if s.rest -= int64(n); s.rest == 0 {
				if err := s.end(); err != nil {
					return i - 1, err
				}
			}
			continue
		}
		if s.answered < s.known && s.nested == 0 && len(s.part) == 0 {
			if n := s.short(b[i:]); n > 0 {
				s.answered++
				i += n
				continue
			}
		}
		end := bytes.IndexByte(b[i:], '\n')
		if end < 0 {
			s.part = append(s.part, b[i:]...)
			if len(s.part) > maxLine {
				return i, breach("a line of more than %d bytes", maxLine)
			}
			return len(b), nil
		}
		line := b[i : i+end]
		if len(s.part) > 0 {
			s.part = append(s.part, line...)
			line = s.part
		}
		if err := s.line(line); err != nil {
			return i, err
		}
		s.part = s.part[:0]
		i += end + 1
	}
	return len(b), nil
}

// short returns the length of the reply at the beginning of b if it is OK, a digit or nil, otherwise 0. Nearly all answers about
// locks are of this kind, and to pass them at once takes a fifth of the time.
func short(b []byte) int {
	switch {
	case len(b) >= 4 && b[0] == ':' && b[1]-'0' <= 9 && b[2] == '\r' && b[3] == '\n':
		return 4
	case len(b) >= 5 && (string(b[:5]) == "+OK\r\n" || string(b[:5]) == "$-1\r\n"):
		return 5
	case len(b) >= 3 && string(b[:3]) == "_\r\n":
		return 3
	}
	return 0
}

// line reads a line, which is a whole value or the head of one.
func (s *scanner) line(line []byte) error {
	if len(line) < 2 || line[len(line)-1] != '\r' || len(line) > maxLine {
		return breach("a line that is empty, has no CR before its LF, or is longer than %d bytes", maxLine)
	}
	kind, value := line[0], line[1:len(line)-1]
	s.begin(kind, value)
	s.weight += int64(len(line))
	switch kind {
	case '+', ':', ',', '(':
	case '-':
		if err := redirects(value); err != nil {
			return err
		}
	case '_':
		if len(value) > 0 {
			return breach("a null with a value")
		}
	case '#':
		if len(value) != 1 {
			return breach("a boolean of %d bytes", len(value))
		}
	case '>':
		if s.nested > 0 {
			return breach("a push within a reply")
		}
		return s.head(kind, value)
	case '$', '=', '*', '~', '%':
		return s.head(kind, value)
	default: // also attributes and long errors, which no released server sends
		return breach("a value of the unknown kind %q", kind)
	}
	return s.end()
}

// begin records a value whose line is complete.
func (s *scanner) begin(kind byte, value []byte) {
	if (kind == '$' || kind == '*') && string(value) == "-1" {
		kind = '_'
	}
	switch s.nested {
	case 0:
		s.kind, s.weight, s.count, s.mixed, s.proto = kind, 0, 0, false, ""
		if s.message = s.message[:0]; kind == '+' || kind == '-' {
			s.message = append(s.message, value...)
		}
	case 1:
		due := s.count%2 == 1 && s.latest().is("proto")
		s.count++
		e := s.latest()
		*e = element{kind: kind}
		switch {
		case kind == '+':
			e.add(value)
		case kind == ':' && due:
			s.proto = string(value)
		case due:
			s.proto = ""
		}
	default:
		s.mixed = s.mixed || kind != '$' && kind != '+'
	}
}

// head reads the head of a string or an array.
func (s *scanner) head(kind byte, value []byte) error {
	if string(value) == "-1" && (kind == '$' || kind == '*') { // the null of version 2
		return s.end()
	}
	n, ok := int64(0), len(value) > 0 && len(value) <= 10
	for _, c := range value {
		ok = ok && c >= '0' && c <= '9'
		n = 10*n + int64(c-'0')
	}
	if !ok {
		return breach("the length %.20q", value)
	}
	switch kind {
	case '$', '=':
		if s.weight += n; s.weight > s.limit {
			return breach("a string of %d bytes", n)
		}
		s.rest = n + int64(len("\r\n"))
		return nil
	case '%':
		n *= 2
	}
	if s.weight += n * elementWeight; s.weight > s.limit {
		return breach("an array of %d elements", n)
	}
	if n == 0 {
		return s.end()
	}
	if s.nested == maxNesting {
		return breach("arrays nested more than %d deep", maxNesting)
	}
	s.left[s.nested] = n
	s.nested++
	return nil
}

// end closes a value, and each array that ends with it.
func (s *scanner) end() error {
	for s.nested > 0 {
		if s.left[s.nested-1]--; s.left[s.nested-1] > 0 {
			return nil
		}
		s.nested--
	}
	return s.ended()
}

// redirects rejects errors that redirect a client without an address: rueidis crashes on them.
func redirects(text []byte) error {
	text = bytes.TrimPrefix(text, []byte("ERR ")) // as rueidis does
	fields := 3
	switch {
	case bytes.HasPrefix(text, []byte("MOVED")), bytes.HasPrefix(text, []byte("ASK")):
	case bytes.HasPrefix(text, []byte("REDIRECT")):
		fields = 2
	default:
		return nil
	}
	if bytes.Count(text, []byte(" ")) < fields-1 {
		return breach("the error %.40q without an address", text)
	}
	return nil
}

func breach(format string, args ...any) error {
	err := fmt.Errorf("the server sends "+format+", which lockbench does not read", args...)
	return &drivers.Error{Class: drivers.ClassProtocol, Op: "reply", Err: err}
}
