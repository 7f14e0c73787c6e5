package lines

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// handle knows four ops.
func handle(ctx context.Context, op string, text []byte, answer func(Line, error)) (more bool) {
	switch op {
	case "fail":
		answer(nil, errors.New("it failed"))
	case "NaN":
		nan := math.NaN()
		answer(&line{Float: &nan}, nil)
	case "timeout":
		<-ctx.Done()
		answer(&line{Key: "k"}, ctx.Err())
	case "close":
		answer(&line{}, nil)
		return false
	default:
		answer(nil, Refuse("op", "%q is unknown", op))
	}
	return true
}

// Each request has an answer, also one that makes no sense, until one ends the server.
func TestServe(t *testing.T) {
	const protocol = `"error":{"class":"protocol",`
	const ending = `{"id":99,"op":"close"}` + "\n"
	for request, want := range map[string]string{
		`{`:                                      `{` + protocol + `"text":"the line is no JSON: unexpected end of JSON input"}}`,
		`[]`:                                     `{` + protocol + `"text":"the line is a JSON array, and must be an object"}}`,
		`{}`:                                     `{` + protocol + `"field":"id","text":"id: is missing, or below 1"}}`,
		`{"id":-1,"op":"fail"}`:                  `{` + protocol + `"field":"id","text":"id: is missing, or below 1"}}`,
		`{"id":"hunter2"}`:                       `{` + protocol + `"field":"id","text":"id: is a string, and must be a whole number"}}`,
		`{"id":2,"op":7}`:                        `{"id":2,` + protocol + `"field":"op","text":"op: is a number, and must be a string"}}`,
		`{"id":2,"op":"fail"} {}`:                `{` + protocol + `"text":"the line is no JSON: invalid character '{' after top-level value"}}`,
		`{"id":2,"timeout_ns":-1}`:               `{"id":2,` + protocol + `"field":"timeout_ns","text":"timeout_ns: must not be negative"}}`,
		`{"id":2,"op":"no","x":1}`:               `{"id":2,` + protocol + `"field":"op","text":"op: \"no\" is unknown"}}`,
		`{"id":2,"op":"fail","x":1}`:             `{"id":2,"error":{"class":"other","text":"it failed"}}`,
		`{"id":2,"op":"NaN"}`:                    `{"id":2,"error":{"class":"other","text":"json: unsupported value: NaN"}}`,
		`{"id":2,"op":"timeout","timeout_ns":1}`: `{"id":2,"error":{"class":"timeout","text":"context deadline exceeded"},"key":"k"}`,
	} {
		var out bytes.Buffer
		s := NewServer(&out)
		if err := s.Serve(t.Context(), strings.NewReader(request+"\n"+ending+ending), handle); err != nil {
			t.Errorf("%s: %v", request, err)
		}
		s.Send(&line{LineHeader: LineHeader{Event: "late"}})
		got := strings.Split(regexp.MustCompile(`"at_ns":\d+,?`).ReplaceAllString(out.String(), ""), "\n")
		if !slices.Equal(got, []string{want, `{"id":99,}`, ""}) {
			t.Errorf("%s\nis answered by %s", request, got)
		}
	}
}

// A server whose input ends ends too, and says if that was in the middle of a line.
func TestEndOfInput(t *testing.T) {
	for text, want := range map[string]error{
		"":                            nil,
		`{"id":1,"op":"fail"}` + "\n": nil,
		`{"id":`:                      ErrHalfLine,
		strings.Repeat("x", 2<<20):    errLongLine,
	} {
		err := NewServer(io.Discard).Serve(t.Context(), strings.NewReader(text), handle)
		if err != nil && want != nil && err.Error() == want.Error() || err == want {
			continue
		}
		t.Errorf("%.40q: %v, want %v", text, err, want)
	}
}

// A context ends a server whose input goes on, in the middle of a request.
func TestServeContext(t *testing.T) {
	in, requests := io.Pipe()
	defer requests.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go io.WriteString(requests, `{"id":1,"op":"timeout"}`+"\n")
	end := make(chan struct{})
	defer close(end)
	err := NewServer(io.Discard).Serve(ctx, in, func(context.Context, string, []byte, func(Line, error)) bool {
		cancel()
		<-end
		return true
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
