package guard

// The commands in a stream to a server, and those whose replies a guard has to check.

import "bytes"

// commandScanner follows a stream of commands, which are arrays of strings. It must find each one: a guard that counts
// too few rejects a valid reply, and one that counts too many passes an invalid one on.
type commandScanner struct {
	head    byte  // the first byte of the current head, or 0
	n       int64 // its number so far
	args    int64 // of the current command
	left    int64 // arguments of it that have not begun
	rest    int64 // bytes of the current argument that have not come, including CRLF
	judged  bool  // the command's name is in judged
	scripts int64 // commands that run a script, so far
	size    int   // of name, so far
	name    [16]byte
	subSize int // of sub
	sub     [32]byte
}

// scan reads the next piece of the stream and returns the number of commands that it completes. A command is complete
// when its name is, or its second word if the reply is to be judged. For the latter, scan calls found with both words,
// the number of arguments, and the number of commands before it in the piece.
func (s *commandScanner) scan(b []byte, found func(name, sub string, args, before int64)) (commands int64) {
	for i := 0; i < len(b); {
		if s.left == 0 && s.rest == 0 && s.head == 0 {
			if n, script := unjudged(b[i:]); n > 0 {
				commands++
				if script {
					s.scripts++
				}
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
				if runs(word(s.name[:s.size])) {
					s.scripts++
				}
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

// unjudged returns the length of the command at the beginning of b if it is whole and its reply needs no check,
// otherwise 0, and whether it runs a script. Nearly all commands are of this kind, and reading them at once takes two thirds of the time.
func unjudged(b []byte) (n int, script bool) {
	args, i := length(b, 0)
	if i > len(b) {
		return 0, false
	}
	for arg := range args {
		size, from := length(b, i)
		end := from + size + len("\r\n")
		if size < 0 || end > len(b) || arg == 0 && judged(b[from:from+size]) {
			return 0, false
		}
		if arg == 0 {
			script = runs(b[from : from+size])
		}
		i = end
	}
	return i, script
}

// runs reports whether a command runs a script: EVAL, EVALSHA, and their forms that only read.
func runs(name []byte) bool {
	return len(name) >= len("EVAL") && name[0]|0x20 == 'e' && name[1]|0x20 == 'v'
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

// word returns an argument without its CRLF.
func word(b []byte) []byte { return bytes.TrimSuffix(b, []byte("\r\n")) }

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
