package lines

// Lines without encoding/json, for requests and answers that come by the hundred thousand. They are as any JSON, and what
// is unusual in one goes to encoding/json after all.

import (
	"encoding/json"
	"strconv"
	"time"
)

// Appender is a Request or a Line that writes itself, for what is often written. Append reports false if it cannot.
type Appender interface {
	Append(b []byte) (_ []byte, ok bool)
}

// encode appends a request or a line to b, which is as before after an error.
func encode(b []byte, v any) ([]byte, error) {
	if own, ok := v.(Appender); ok {
		if longer, ok := own.Append(b); ok {
			return longer, nil
		}
	}
	text, err := json.Marshal(v)
	return append(b, text...), err
}

// Field is a field of an object: its name, and where its value is, a *string, *int, *int64, *uint64, *time.Duration or **bool.
type Field struct {
	name string
	at   any
}

// At returns a field.
func At(name string, at any) Field { return Field{name, at} }

// Append appends an object with those of its fields that are not zero.
func Append(b []byte, fields []Field) []byte {
	start := len(b)
	for _, f := range fields {
		n := int64(0)
		switch v := f.at.(type) {
		case *string:
			if *v != "" {
				b = appendText(f.begin(b), *v)
			}
		case **bool:
			if *v != nil {
				b = strconv.AppendBool(f.begin(b), **v)
			}
		case *uint64:
			if *v != 0 {
				b = strconv.AppendUint(f.begin(b), *v, 10)
			}
		case *int:
			n = int64(*v)
		case *int64:
			n = *v
		case *time.Duration:
			n = int64(*v)
		}
		if n != 0 {
			b = strconv.AppendInt(f.begin(b), n, 10)
		}
	}
	if len(b) == start {
		return append(b, "{}"...)
	}
	b[start] = '{'
	return append(b, '}')
}

func (f *Field) begin(b []byte) []byte { return append(append(append(b, `,"`...), f.name...), `":`...) }

func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(text)
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

var yes, no = true, false // pointers to which cost no allocation

// set sets the field to a plain value: a string without escapes, a whole number from 0 to less than 10¹⁸, true or false.
func (f *Field) set(text []byte, quoted bool) bool {
	switch to := f.at.(type) {
	case *string:
		*to = string(text)
		return quoted
	case **bool:
		if *to = &no; string(text) == "true" {
			*to = &yes
		}
		return !quoted && (*to == &yes || string(text) == "false")
	}
	if quoted || len(text) == 0 || len(text) > 18 || text[0] == '0' && len(text) > 1 {
		return false
	}
	n := int64(0)
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
		n = 10*n + int64(c-'0')
	}
	switch to := f.at.(type) {
	case *int:
		*to = int(n)
	case *int64:
		*to = n
	case *uint64:
		*to = uint64(n)
	case *time.Duration:
		*to = time.Duration(n)
	}
	return true
}

// Flat sets the fields of an object whose values are plain. It reports false if text is anything else, or has a field that is
// not among them, unless there may be others: then it is for [Decode].
func Flat(text []byte, fields []Field, others bool) bool {
	if len(text) < 2 || text[0] != '{' || text[len(text)-1] != '}' {
		return false
	}
	rest, next := text[1:len(text)-1], 0
	for len(rest) > 0 {
		name, n := plain(rest)
		if n == 0 || n == len(rest) || rest[n] != ':' {
			return false
		}
		rest = unblanked(rest[n+1:])
		quoted := len(rest) > 0 && rest[0] == '"'
		var value []byte
		if quoted {
			value, n = plain(rest)
		} else {
			for n = 0; n < len(rest) && rest[n] != ','; n++ {
			}
			value = rest[:n]
		}
		if n == 0 {
			return false
		}
		known := others
		for range fields { // from the last one on: they mostly come in order
			f := &fields[next]
			if next++; next == len(fields) {
				next = 0
			}
			if f.name == string(name) {
				known = f.set(value, quoted)
				break
			}
		}
		if !known {
			return false
		}
		if rest = rest[n:]; len(rest) > 0 {
			if rest[0] != ',' || len(rest) == 1 {
				return false
			}
			rest = unblanked(rest[1:])
		}
	}
	return true
}

// unblanked returns text without the blank that it may begin with, as Python writes them.
func unblanked(text []byte) []byte {
	if len(text) > 0 && text[0] == ' ' {
		return text[1:]
	}
	return text
}

// plain returns a string without escapes at the beginning of text, and its length with quotes, or 0.
func plain(text []byte) (s []byte, n int) {
	if len(text) == 0 || text[0] != '"' {
		return nil, 0
	}
	for i, c := range text[1:] {
		switch {
		case c == '"':
			return text[1 : i+1], i + 2
		case c < ' ', c > '~', c == '\\':
			return nil, 0
		}
	}
	return nil, 0
}
