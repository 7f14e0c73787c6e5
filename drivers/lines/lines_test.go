package lines

import (
	"encoding/json"
	"strings"
	"testing"
)

// request and line are those of the tests.
type request struct {
	RequestHeader
	Key string `json:"key,omitempty"`
}

type line struct {
	LineHeader
	Key   string   `json:"key,omitempty"`
	Float *float64 `json:"float,omitempty"`
	Keys  []string `json:"keys,omitempty"`
}

// What makes no sense is refused, with the field at fault and without a value.
func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		``:                         "the line is no JSON: it ends too early",
		`{"id":1,`:                 "the line is no JSON: it ends too early",
		`hunter2`:                  "the line is no JSON: invalid character 'h' looking for beginning of value",
		`"hunter2"`:                "the line is a JSON string, and must be an object",
		`["hunter2"]`:              "the line is a JSON array, and must be an object",
		`{} {}`:                    "the line has more than one JSON object",
		`{"keyy":"hunter2"}`:       "keyy: is unknown",
		`{"id":"hunter2"}`:         "id: is a string, and must be a whole number",
		`{"id":1.5}`:               "id: is a number, and must be a whole number",
		`{"key":12345}`:            "key: is a number, and must be a string",
		`{"keys":"hunter2"}`:       "keys: is a string, and must be an array",
		`{"error":"hunter2"}`:      "error: is a string, and must be an object",
		`{"error":{"text":12345}}`: "text: is a number, and must be a string",
	} {
		if _, err := Decode[line]([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if l, err := Decode[line]([]byte(`{"id":7,"at_ns":5,"key":"k"}`)); err != nil || l.ID != 7 || l.At != 5 || l.Key != "k" {
		t.Errorf("%+v, %v", l, err)
	}
}

// A line in an error is cut, and one that is too long is left out.
func TestMalformed(t *testing.T) {
	for _, tt := range []struct {
		e    Malformed
		want string
	}{
		{Malformed{strings.Repeat("x", 300), Refuse("id", "is %d", 1)}, "id: is 1, in the line `" + strings.Repeat("x", 200) + "…`"},
		{Malformed{Err: errLongLine}, "a line is longer than 1048576 bytes"},
	} {
		if got := tt.e.Error(); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

// The parser of lines does not panic, whatever it reads, and what it accepts is one object.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"id":1,"at_ns":5,"key":"k"}`, `{"event":"gap","at_ns":1,"error":{"text":"t"}}`, `{} {}`, `[`, "null"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := Decode[line]([]byte(text)); err == nil && !json.Valid([]byte(text)) {
			t.Errorf("%q is no JSON, and was accepted", text)
		}
		_, _ = Decode[request]([]byte(text))
	})
}
