// The commands in a stream to a server, and those among them whose replies a guard has to judge.
package redis

import "bytes"

// commandScanner follows a stream of commands, which are arrays of strings. It has to find each one: a guard that counts too
// few refuses a reply that is in order, and one that counts too many passes on a reply that is not.
type commandScanner struct {
	head    byte  // the kind of the head under way, or 0
	n       int64 // what it has announced so far
	args    int64 // of the command under way
	left    int64 // of them, those that have not begun
	rest    int64 // bytes of the argument under way that have not come, CRLF included
	judged  bool  // the command's name is in judged
	size    int   // of name, while that is under way
	name    [16]byte
	subSize int // of sub
	sub     [32]byte
}

// scan reads the next piece of the stream and returns how many commands have become known in it: a command is when its name
// is whole, or its second word if the reply is to be judged. found is called with the words of the latter and the
// number of commands before it in the piece.
func (s *commandScanner) scan(b []byte, found func(name, sub string, args, before int64)) (commands int64) {
	for i := 0; i < len(b); {
		if s.left == 0 && s.rest == 0 && s.head == 0 {
			if n := unjudged(b[i:]); n > 0 {
				commands++
				i += n
				continue
			}
		}
		if s.rest > 0 {
			n := int(min(s.rest, int64(len(b)-i)))
			first, second := s.left == s.args-1, s.judged && s.left == s.args-2
			if first {
				s.size += copy(s.name[s.size:], b[i:i+n])
			} else if second {
				s.subSize += copy(s.sub[s.subSize:], b[i:i+n])
			}
			i += n
			if s.rest -= int64(n); s.rest > 0 || !first && !second {
				continue
			}
			if first {
				s.judged, s.subSize = judged(word(s.name[:s.size])), 0
			}
			if !s.judged || second || s.args == 1 {
				if s.judged {
					found(string(word(s.name[:s.size])), string(word(s.sub[:s.subSize])), s.args, commands)
				}
				commands++
			}
			continue
		}
		if s.head == 0 {
			s.head, s.n = b[i], 0
			i++
		}
		n := s.n
		for ; i < len(b) && b[i] != '\n'; i++ {
			if b[i] != '\r' {
				n = 10*n + int64(b[i]-'0')
			}
		}
		if s.n = n; i == len(b) {
			break
		}
		i++
		if s.head == '*' {
			s.args, s.left, s.judged = n, n, false
		} else {
			s.left--
			s.rest = n + int64(len("\r\n"))
			if s.left == s.args-1 {
				s.size = 0
			}
		}
		s.head = 0
	}
	return commands
}

// unjudged returns how long the command at the beginning of b is if it is whole and its reply needs no judgement, else 0.
// Nearly all commands are of this kind, and reading them in one go takes two thirds of the time.
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

// length reads the number in the head at b[i] and returns where the bytes behind the head begin, which is beyond b if the
// head is not whole.
func length(b []byte, i int) (n, next int) {
	for i++; i < len(b); i++ {
		if b[i] == '\r' {
			return n, i + len("\r\n")
		}
		n = 10*n + int(b[i]-'0')
	}
	return 0, len(b) + 1
}

// word returns an argument without the CRLF behind it.
func word(b []byte) []byte { return bytes.TrimSuffix(b, []byte("\r\n")) }

// judged reports whether the guard has to judge the reply to the command.
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
