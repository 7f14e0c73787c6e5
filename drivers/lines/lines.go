// Package lines has both sides of a protocol between two processes: a Conn asks, and a Server answers. Each request,
// answer and event is a JSON object on a line of its own, of at most 1 MiB. What the objects have beyond their headers is
// the user's; drivers/exec documents such a protocol.
//
// A request has an id, and so has its answer. Many requests may be under way, and answers come in any order. A line of the
// answering side without an id is an event. Every line of that side has at_ns, the reading of a monotonic clock of its
// own, which the asking side compares with the times at which it has sent requests and read lines.
package lines

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// RequestHeader begins every request.
type RequestHeader struct {
	ID      int64         `json:"id"` // set by Ask, like Timeout
	Op      string        `json:"op"`
	Timeout time.Duration `json:"timeout_ns,omitempty"`
	Slow    bool          `json:"-"` // Options.Limit does not count; without a deadline the Timeout is the caller's
}

func (h *RequestHeader) header() *RequestHeader { return h }

// Request is a pointer to a struct that embeds a RequestHeader.
type Request interface{ header() *RequestHeader }

// LineHeader begins every line of the answering side.
type LineHeader struct {
	ID    int64         `json:"id,omitempty"`    // of an answer, that of its request
	Event string        `json:"event,omitempty"` // of an event, its name
	At    time.Duration `json:"at_ns"`
	Error *Failure      `json:"error,omitempty"`

	// By the clock of the Conn: when the request of an answer was sent, and when the line was read.
	Sent time.Duration `json:"-"`
	Read time.Duration `json:"-"`
}

func (h *LineHeader) header() *LineHeader { return h }

// Line is a pointer to a struct that embeds a LineHeader.
type Line interface{ header() *LineHeader }

// Failure is an error on its way.
type Failure struct {
	Class drivers.Class `json:"class"`
	Field string        `json:"field,omitempty"`
	Text  string        `json:"text"`
}

// FailureOf returns what tells of err: of a refusal, also the field.
func FailureOf(err error) *Failure {
	f := &Failure{Class: drivers.ClassOf(err), Text: err.Error()}
	if bad, ok := errors.AsType[*refusal](err); ok {
		f.Class, f.Field = drivers.ClassProtocol, bad.field
	}
	return f
}

// Err returns the error that f stands for; op is what was attempted, "worker: try".
func (f *Failure) Err(op string) error {
	return &drivers.Error{Class: f.Class, Op: op, Err: errors.New(f.Text)}
}

// refusal says why a line makes no sense, and because of which field, if it is one.
type refusal struct{ field, text string }

func (r *refusal) Error() string {
	if r.field == "" {
		return r.text
	}
	return r.field + ": " + r.text
}

// Refuse returns the error of a line that makes no sense because of a field, or as a whole if that is empty.
func Refuse(field, format string, args ...any) error {
	return &refusal{field, fmt.Sprintf(format, args...)}
}

// Malformed is the error of a line that is not of the protocol.
type Malformed struct {
	Text string // the line, which may have secrets
	Err  error
}

func (e *Malformed) Error() string {
	const most = 200
	if e.Err == errLongLine {
		return e.Err.Error()
	}
	text := e.Text
	if len(text) > most {
		text = text[:most] + "…"
	}
	return fmt.Sprintf("%v, in the line %#q", e.Err, text)
}

// Decode reads a line, which has to be one JSON object without unknown fields. The error quotes no value, because the
// line may have a password.
func Decode[T any](text []byte) (*T, error) {
	to := new(T)
	return to, decode(text, to)
}

func decode(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(to)
	var wrong *json.UnmarshalTypeError
	bad, refused := errors.AsType[*refusal](err) // of an UnmarshalJSON
	switch {
	case refused:
		return bad
	case errors.As(err, &wrong):
		return mistyped(wrong)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return Refuse("", "the line is no JSON: it ends too early")
	case err != nil:
		name, unknown := strings.CutPrefix(err.Error(), "json: unknown field ")
		if field, quoted := strconv.Unquote(name); unknown && quoted == nil {
			return Refuse(field, "is unknown")
		}
		return Refuse("", "the line is no JSON: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Refuse("", "the line has more than one JSON object")
	}
	return nil
}

func mistyped(e *json.UnmarshalTypeError) error {
	got, _, _ := strings.Cut(e.Value, " ") // what follows is a value
	if e.Field == "" {
		return Refuse("", "the line is a JSON %s, and must be an object", got)
	}
	want := "a whole number"
	switch e.Type.Kind() {
	case reflect.String:
		want = "a string"
	case reflect.Bool:
		want = "true or false"
	case reflect.Slice:
		want = "an array"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		want = "an object"
	}
	return Refuse(e.Field[strings.LastIndexByte(e.Field, '.')+1:], "is a %s, and must be %s", got, want)
}

// maxLine is the length of the longest line.
const maxLine = 1 << 20

var errLongLine = fmt.Errorf("a line is longer than %d bytes", maxLine)

// ErrHalfLine is the error of a stream that ends in the middle of a line.
var ErrHalfLine = errors.New("the last line is incomplete")

// yielding lets those run first who have been given something to do: a read that blocks keeps the processor until another
// thread has been woken to take it. Without it, a Try of one client took 50 µs instead of 18, and 64 clients made 142,000
// pairs a second instead of 187,000 (go test ./drivers/exec -run XXX -bench Pairs/go-null; medians of 6 rounds in turn, two cores).
type yielding struct{ io.Reader }

func (y yielding) Read(p []byte) (int, error) {
	runtime.Gosched()
	return y.Reader.Read(p)
}

// readLines calls each with every line, until it returns an error or r ends.
func readLines(r io.Reader, each func(text []byte) error) error {
	s := bufio.NewScanner(yielding{r})
	s.Buffer(make([]byte, 64<<10), maxLine)
	s.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		n, text, err := bufio.ScanLines(data, atEOF)
		if atEOF && err == nil && n == len(data) && n > 0 && data[n-1] != '\n' {
			return 0, nil, ErrHalfLine
		}
		return n, text, err
	})
	for s.Scan() {
		if err := each(s.Bytes()); err != nil {
			return err
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return &Malformed{Err: errLongLine}
	}
	return s.Err()
}
