package exec

// The lines of the protocol, and what is wrong with those that make no sense.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// header begins every request.
type header struct {
	ID      int64         `json:"id"`
	Op      string        `json:"op"`
	Timeout time.Duration `json:"timeout_ns,omitempty"`
}

func (h *header) head() *header { return h }

// request is any of the following.
type request interface{ head() *header }

type openRequest struct {
	header
	Protocol int    `json:"protocol"`
	Driver   string `json:"driver"`
	Password string `json:"password,omitempty"`
	settings
}

type tryRequest struct {
	header
	Lease int           `json:"lease"`
	Key   string        `json:"key"`
	TTL   time.Duration `json:"ttl_ns"`
}

// leaseRequest is a release or a renew.
type leaseRequest struct {
	tryRequest
	Owner string `json:"owner,omitempty"`
}

type watchRequest struct {
	header
	Lease int `json:"lease"`
}

type writeRequest struct {
	watchRequest
	Every time.Duration `json:"every_ns"`
}

type closeRequest struct{ header }

// line is an answer or an event of a worker.
type line struct {
	ID    int64         `json:"id,omitempty"`
	Event string        `json:"event,omitempty"`
	At    time.Duration `json:"at_ns"`

	Traits *drivers.Traits `json:"traits,omitempty"`   // of open
	Held   *bool           `json:"held,omitempty"`     // of try
	Owner  string          `json:"owner,omitempty"`    // of try
	Valid  time.Duration   `json:"valid_ns,omitempty"` // of try and renew
	Owned  *bool           `json:"owned,omitempty"`    // of release, renew and renewed
	Error  *failure        `json:"error,omitempty"`

	Lease int           `json:"lease,omitempty"` // of events
	Fence uint64        `json:"fence,omitempty"` // of try and write
	Count uint64        `json:"count,omitempty"`
	Sent  time.Duration `json:"sent_ns,omitempty"` // by the same clock as At
	Gap   time.Duration `json:"gap_ns,omitempty"`
}

// failure is an error on its way.
type failure struct {
	Class drivers.Class `json:"class"`
	Field string        `json:"field,omitempty"`
	Text  string        `json:"text"`
}

// refusal says why a line makes no sense, and because of which field, if it is one.
type refusal struct{ field, text string }

func (r *refusal) Error() string {
	if r.field == "" {
		return r.text
	}
	return r.field + ": " + r.text
}

func failureOf(err error) *failure {
	f := failure{Class: drivers.ClassOf(err), Text: err.Error()}
	var bad *refusal
	if errors.As(err, &bad) {
		f.Class, f.Field = drivers.ClassProtocol, bad.field
	}
	return &f
}

// err returns the error that f stands for, of an op or an event.
func (f *failure) err(of string) error {
	return &drivers.Error{Class: f.Class, Op: "worker: " + of, Err: errors.New(f.Text)}
}

// decode reads a line, which has to be one JSON object without unknown fields. The error quotes no value, because the
// line may have a password.
func decode(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(to)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return mistyped(wrong)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &refusal{"", "the line is no JSON: it ends too early"}
	case err != nil:
		name, unknown := strings.CutPrefix(err.Error(), "json: unknown field ")
		if field, quoted := strconv.Unquote(name); unknown && quoted == nil {
			return &refusal{field, "is unknown"}
		}
		return &refusal{"", "the line is no JSON: " + err.Error()}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return &refusal{"", "the line has more than one JSON object"}
	}
	return nil
}

func mistyped(e *json.UnmarshalTypeError) error {
	got, _, _ := strings.Cut(e.Value, " ") // what follows is a value
	if e.Field == "" {
		return &refusal{"", fmt.Sprintf("the line is a JSON %s, and must be an object", got)}
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
	return &refusal{e.Field[strings.LastIndexByte(e.Field, '.')+1:], fmt.Sprintf("is a %s, and must be %s", got, want)}
}

var (
	errHalfLine = errors.New("the last line is incomplete")
	errLongLine = fmt.Errorf("a line is longer than %d bytes", maxLine)
)

// readLines calls each with every line, until it returns an error or r ends.
func readLines(r io.Reader, each func(text []byte) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	s.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		n, text, err := bufio.ScanLines(data, atEOF)
		if atEOF && err == nil && n == len(data) && n > 0 && data[n-1] != '\n' {
			return 0, nil, errHalfLine
		}
		return n, text, err
	})
	for s.Scan() {
		if err := each(s.Bytes()); err != nil {
			return err
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return errLongLine
	}
	return s.Err()
}
