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

// Value is a plain value of a line: a string without escapes, a whole number, true or false.
type Value struct {
	text   []byte
	quoted bool
}

// Text returns a string.
func (v Value) Text() (string, bool) { return string(v.text), v.quoted }

// Bool returns true or false.
func (v Value) Bool() (is, ok bool) {
	is = string(v.text) == "true"
	return is, !v.quoted && (is || string(v.text) == "false")
}

// Uint returns a whole number from 0 to less than 10¹⁸, as JSON writes it.
func (v Value) Uint() (n uint64, ok bool) {
	if v.quoted || len(v.text) == 0 || len(v.text) > 18 || v.text[0] == '0' && len(v.text) > 1 {
		return 0, false
	}
	for _, c := range v.text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + uint64(c-'0')
	}
	return n, true
}

// Flat calls set for each field of an object whose values are plain. It reports false if text is anything
// else, or set knows a field or its value not: then it is for [Decode].
func Flat(text []byte, set func(name []byte, v Value) bool) bool {
	if len(text) < 2 || text[0] != '{' || text[len(text)-1] != '}' {
		return false
	}
	rest := text[1 : len(text)-1]
	for len(rest) > 0 {
		name, n := plain(rest)
		if n == 0 || n == len(rest) || rest[n] != ':' {
			return false
		}
		rest = unblanked(rest[n+1:])
		v := Value{quoted: len(rest) > 0 && rest[0] == '"'}
		if v.quoted {
			v.text, n = plain(rest)
		} else {
			for n = 0; n < len(rest) && rest[n] != ','; n++ {
			}
			v.text = rest[:n]
		}
		if n == 0 || !set(name, v) {
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

// Begin begins a request with its header; AppendText, AppendInt and a brace follow.
func (h *RequestHeader) Begin(b []byte) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, h.ID, 10)
	b = AppendText(b, "op", h.Op)
	return AppendInt(b, "timeout_ns", int64(h.Timeout))
}

// Set sets a field of the header.
func (h *RequestHeader) Set(name []byte, v Value) (ok bool) {
	var n uint64
	switch string(name) {
	case "id":
		n, ok = v.Uint()
		h.ID = int64(n)
	case "op":
		h.Op, ok = v.Text()
	case "timeout_ns":
		n, ok = v.Uint()
		h.Timeout = time.Duration(n)
	}
	return ok
}

// inHeader reports whether the header of requests has a field.
func inHeader(name []byte) bool {
	switch string(name) {
	case "id", "op", "timeout_ns":
		return true
	}
	return false
}

// Begin begins a line with its header.
func (h *LineHeader) Begin(b []byte) []byte {
	b = append(b, `{`...)
	if h.ID != 0 {
		b = append(b, `"id":`...)
		b = append(strconv.AppendInt(b, h.ID, 10), ',')
	}
	b = append(b, `"at_ns":`...)
	return strconv.AppendInt(b, int64(h.At), 10)
}

// Set sets a field of the header.
func (h *LineHeader) Set(name []byte, v Value) (ok bool) {
	var n uint64
	switch string(name) {
	case "id":
		n, ok = v.Uint()
		h.ID = int64(n)
	case "at_ns":
		n, ok = v.Uint()
		h.At = time.Duration(n)
	}
	return ok
}

// AppendText appends a field, unless it is empty.
func AppendText(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = begin(b, name)
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(value)
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), value...), '"')
}

// AppendInt appends a field, unless it is 0.
func AppendInt(b []byte, name string, value int64) []byte {
	if value == 0 {
		return b
	}
	return strconv.AppendInt(begin(b, name), value, 10)
}

// AppendBool appends a field, unless it is nil.
func AppendBool(b []byte, name string, value *bool) []byte {
	if value == nil {
		return b
	}
	return strconv.AppendBool(begin(b, name), *value)
}

func begin(b []byte, name string) []byte { return append(append(append(b, `,"`...), name...), `":`...) }
