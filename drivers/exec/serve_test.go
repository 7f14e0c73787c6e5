package exec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
)

// served returns the answers to some requests, without what depends on the time.
func served(t *testing.T, requests string) []string {
	t.Helper()
	var out bytes.Buffer
	if err := Serve(t.Context(), strings.NewReader(requests), &out, ""); err != nil {
		t.Errorf("Serve: %v", err)
	}
	var answers []string
	for line := range strings.Lines(out.String()) {
		if !strings.Contains(line, `"event":"gap"`) {
			line = regexp.MustCompile(`,?"at_ns":\d+`).ReplaceAllString(strings.TrimSpace(line), "")
			answers = append(answers, regexp.MustCompile(`"owner":"[^"]+"`).ReplaceAllString(line, `"owner":"…"`))
		}
	}
	// Those of sessions come in their order, and others between them.
	slices.SortStableFunc(answers, func(a, b string) int { return idOf(a) - idOf(b) })
	return answers
}

func idOf(line string) (id int) {
	_, _ = fmt.Sscanf(line, `{"id":%d`, &id)
	return id
}

const opening = `{"id":1,"op":"open","driver":"memory","lock":"mutex"}` + "\n" + `{"id":90,"op":"session","session":1}` + "\n"

// The requests that the package's documentation shows, and their answers.
func TestAnswers(t *testing.T) {
	got := served(t, opening+
		`{"id":2,"op":"try","session":1,"lease":1,"key":"k","ttl_ns":60000000000}
		{"id":3,"op":"try","session":1,"lease":2,"key":"k","ttl_ns":60000000000,"timeout_ns":5000000000}
		{"id":4,"op":"watch","session":1,"lease":1}
		{"id":5,"op":"release","session":1,"lease":1,"key":"k","ttl_ns":60000000000}
		{"id":6,"op":"release","session":1,"lease":1,"key":"k","ttl_ns":60000000000}
		{"id":7,"op":"try","session":1,"lease":1,"key":"k","ttl_ns":60000000000}
		{"id":8,"op":"renew","session":1,"lease":1,"key":"k","ttl_ns":60000000000}
		{"id":9,"op":"renew","session":1,"lease":1,"key":"k","owner":"another's","ttl_ns":60000000000}
		{"id":10,"op":"release","session":1,"lease":77,"key":"k","owner":"another's","ttl_ns":60000000000}
		{"id":11,"op":"release","session":1,"lease":1,"key":"k","ttl_ns":60000000000}
		{"id":12,"op":"release","session":1,"lease":1,"key":"k"}
		{"id":91,"op":"close"}
		{"id":92,"op":"close"}
		`)
	want := []string{
		`{"id":1,"traits":{"exclusive":true,"owned":true,"expires":true,"fenced":true,"fair":false,"reentrant":false,"renews":true,"wakes":false,"takes_owner":true,"crashes":true}}`,
		`{"id":2,"held":true,"owner":"…","fence":1}`,
		`{"id":3,"held":false,"owner":"…"}`,
		`{"id":4}`,
		`{"id":5,"owned":true}`,
		`{"id":6,"owned":false}`,
		`{"id":7,"held":true,"owner":"…","fence":2}`,
		`{"id":8,"owned":true}`,
		`{"id":9,"owned":false}`,
		`{"id":10,"owned":false}`,
		`{"id":11,"owned":true}`,
		`{"id":12,"owned":false}`,
		`{"id":90}`,
		`{"id":91}`,
	}
	compare(t, got, want)
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = strings.ReplaceAll(got[i], ",}", "}")
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("answer %d:\ngot  %s\nwant %s", i+1, g, w)
		}
	}
}

// Requests that make no sense are refused, with the field at fault, and harm nothing.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct{ request, field, text string }{
		{`{"id":2}`, "op", `op: "" is unknown`},
		{`{"id":2,"op":"acquire"}`, "op", `op: "acquire" is unknown`},
		{`{"id":2,"op":"try","session":1,"lease":0,"key":"k"}`, "lease", "lease: is missing, or below 1"},
		{`{"id":2,"op":"try","session":1,"lease":1}`, "key", "key: is missing"},
		{`{"id":2,"op":"try","session":1,"lease":1,"key":"k","ttl_ns":-1}`, "ttl_ns", "ttl_ns: must not be negative"},
		{`{"id":2,"op":"try","session":1,"lease":1,"key":"k","tll_ns":1}`, "tll_ns", "tll_ns: is unknown"},
		{`{"id":2,"op":"wait","session":1,"lease":1,"key":"k"}`, "op", "op: the lock does not wait"},
		{`{"id":2,"op":"session"}`, "session", "session: is missing, or below 1"},
		{`{"id":2,"op":"session","session":1}`, "session", "session: 1 is open already"},
		{`{"id":2,"op":"try","session":7,"lease":1,"key":"k"}`, "session", "session: 7 is not open"},
		{`{"id":2,"op":"release","session":1,"lease":1}`, "key", "key: is missing"},
		{`{"id":2,"op":"renew","session":1,"lease":1}`, "key", "key: is missing"},
		{`{"id":2,"op":"watch","session":1,"lease":9}`, "lease", "lease: 9 is not held"},
		{`{"id":2,"op":"write","session":1,"lease":9,"every_ns":1}`, "lease", "lease: 9 is not held"},
		{`{"id":2,"op":"write","session":1,"lease":9}`, "every_ns", "every_ns: must be positive"},
		{`{"id":2,"op":"open","driver":"memory"}`, "op", "op: it is open already"},
		{`{"id":2,"op":"hello","versions":[1]}`, "versions", "versions: are [1], and this is version 2"},
	} {
		got := refused(t, opening+tt.request+"\n")
		if got.Class != drivers.ClassProtocol || got.Field != tt.field || !strings.HasPrefix(got.Text, tt.text) {
			t.Errorf("%s\nis answered by %+v", tt.request, got)
		}
	}
	for _, tt := range []struct{ request, field, text string }{
		{`{"id":1,"op":"try","session":1,"lease":1,"key":"k"}`, "op", "op: try comes before open"},
		{`{"id":1,"op":"open","driver":"memoy"}`, "driver", `driver: unknown driver "memoy"; there are `},
		{`{"id":1,"op":"open","driver":"memory","lock":"mutx"}`, "lock", `lock: unknown lock "mutx"; there are `},
		{`{"id":1,"op":"open","driver":"memory","params":{"a":"b"}}`, "params", `params: unknown parameter "a"`},
		{`{"id":1,"op":"open","driver":"memory","addrs":"redis://u:secret@h"}`, "addrs", "addrs: is a string, and must be an array"},
		{`{"id":1,"op":"open","driver":"memory","password":12345}`, "password", "password: is a number, and must be a string"},
	} {
		got := refused(t, tt.request+"\n")
		if got.Class != drivers.ClassProtocol || got.Field != tt.field || !strings.HasPrefix(got.Text, tt.text) ||
			strings.Contains(got.Text, "secret") || strings.Contains(got.Text, "12345") {
			t.Errorf("%s\nis answered by %+v", tt.request, got)
		}
	}
}

// refused returns the error in the last answer to some requests. A good one follows them and is answered.
func refused(t *testing.T, requests string) lines.Failure {
	t.Helper()
	answers := served(t, requests+`{"id":99,"op":"close"}`+"\n")
	if n := len(answers); n < 2 || answers[n-1] != `{"id":99}` {
		t.Fatalf("%s\nis answered by %q", requests, answers)
	}
	for _, answer := range answers {
		var l line
		if err := json.Unmarshal([]byte(answer), &l); err != nil {
			t.Fatal(err)
		}
		if l.Error != nil {
			return *l.Error
		}
	}
	t.Fatalf("%s\nis answered by %q", requests, answers)
	return lines.Failure{}
}

// A lease under a watchdog or a writer is released before anything else is done with it.
func TestOneUseOfALease(t *testing.T) {
	const holding = opening + `{"id":2,"op":"try","session":1,"lease":1,"key":"k","ttl_ns":60000000000}` + "\n"
	const watching = holding + `{"id":3,"op":"watch","session":1,"lease":1}` + "\n"
	const writing = holding + `{"id":3,"op":"write","session":1,"lease":1,"every_ns":60000000000}` + "\n"
	for _, tt := range []struct{ requests, text string }{
		{watching + `{"id":4,"op":"watch","session":1,"lease":1}`, "lease: 1 is watched already"},
		{watching + `{"id":4,"op":"try","session":1,"lease":1,"key":"k"}`, "lease: 1 is watched or written under: release it first"},
		{watching + `{"id":4,"op":"renew","session":1,"lease":1,"key":"k"}`, "lease: 1 is watched, which renews it"},
		{writing + `{"id":4,"op":"write","session":1,"lease":1,"every_ns":60000000000}`, "lease: 1 is written under already"},
		{writing + `{"id":4,"op":"try","session":1,"lease":1,"key":"k"}`, "lease: 1 is watched or written under: release it first"},
		{opening + `{"id":2,"op":"try","session":1,"lease":1,"key":"k"}` + "\n" + `{"id":3,"op":"watch","session":1,"lease":1}`, "lease: 1 was tried without ttl_ns"},
	} {
		if got := refused(t, tt.requests+"\n"); got.Field != "lease" || got.Text != tt.text {
			t.Errorf("%s\nis answered by %+v", tt.requests, got)
		}
	}
}

// Every field of drivers.Config reaches the worker, apart from the few that are not for it.
func TestSettings(t *testing.T) {
	var c drivers.Config
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		switch name, f := v.Type().Field(i).Name, v.Field(i); {
		case name == "Clients":
			c.Clients = 1
		case name == "TLS", name == "Lockers", name == "Crashes":
		case f.Kind() == reflect.String:
			f.SetString("a " + name)
		case f.Kind() == reflect.Bool:
			f.SetBool(true)
		case f.CanInt():
			f.SetInt(int64(i) + int64(time.Second))
		case f.Kind() == reflect.Slice:
			c.Addrs = []string{"one", "two"}
		case f.Kind() == reflect.Map:
			c.Params = map[string]string{"a": "b"}
		default:
			t.Errorf("Config.%s is of a kind that this test does not know", name)
		}
	}
	s, err := openRequestOf("a driver", c)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := lines.Decode[openRequest](text)
	if err != nil || !reflect.DeepEqual(got.config(), c) {
		t.Errorf("%v: got %#v, want %#v", err, got.config(), c)
	}
}
