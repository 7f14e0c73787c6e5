package results

import (
	"bufio"
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func line(t testing.TB, r *Record) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + "\n"
}

func readString(s string) (ids []string, report Report, err error) {
	report, err = Read(strings.NewReader(s), func(r *Record) error { ids = append(ids, r.ID); return nil })
	return ids, report, err
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.jsonl")
	want := sample()
	mustAppend(t, path, want)
	recs, _ := readFile(t, path)
	if len(recs) != 1 || !reflect.DeepEqual(recs[0], want) {
		t.Errorf("got %+v\nwant %+v", recs, want)
	}
}

// TestSampleIsFull makes the round trip worth something: no field of the sample has its zero value.
func TestSampleIsFull(t *testing.T) {
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		if v.IsZero() {
			t.Errorf("%s is not set", path)
		}
		if v.Kind() == reflect.Struct && !v.Type().Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			for i := range v.NumField() {
				walk(v.Field(i), path+"."+v.Type().Field(i).Name)
			}
		}
	}
	walk(reflect.ValueOf(*sample()), "Record")
}

// TestSchema1 reads what the first version wrote. The file is never written anew: a change that breaks this test
// breaks the files of all users.
func TestSchema1(t *testing.T) {
	recs, report := readFile(t, filepath.Join("testdata", "schema1.jsonl"))
	if len(recs) != 1 || report.Damaged != 0 {
		t.Fatalf("%d records, damage %v", len(recs), report.Damage)
	}
	got, want := recs[0], firstSample()
	for m := range want.Latency {
		// The deflated bytes may change with the compressor, the histogram within must not.
		g, w := got.Latency[m], want.Latency[m]
		gh, gerr := g.Histogram()
		wh, werr := w.Histogram()
		if gerr != nil || werr != nil || !unpacked(gh).Equals(unpacked(wh)) {
			t.Errorf("%s: histograms differ (%v, %v)", m, gerr, werr)
		}
		g.HDR, w.HDR = "", ""
		w.P99, w.P999 = g.P99, g.P999 // which the first version wrote of too few values, too
		got.Latency[m], want.Latency[m] = g, w
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestReadSkipsDamage(t *testing.T) {
	good := line(t, numbered(1))
	end := line(t, numbered(2))
	breakField := func(change func(*Record)) string {
		r := numbered(9)
		change(r)
		return line(t, r)
	}
	hold := func(change func(*Latency)) string {
		return breakField(func(r *Record) { l := r.Latency[Hold]; change(&l); r.Latency[Hold] = l })
	}
	for _, c := range []struct{ name, bad, why string }{
		{"cut", good[:len(good)/2] + "\n", "truncated: the line ends within the record"},
		{"joined", strings.TrimSuffix(good, "\n") + good, "invalid character '{' after top-level value"},
		{"text", "hello\n", `not a JSON object: "hello"`},
		{"array", "[1]\n", `not a JSON object: "[1]"`},
		{"no schema", `{"a":1}` + "\n", "a JSON object without a schema"},
		{"schema 0", breakField(func(r *Record) { r.Schema = 0 }), "schema: 0 is none"},
		{"zeroed", strings.Repeat("\x00", 10) + "\n", "binary data"},
		{"not UTF-8", "{\"id\":\"\xff\"}\n", "binary data"},
		{"infinite", strings.Replace(good, `"jain":0.97`, `"jain":1e999`, 1), "fairness.jain: number 1e999 is no float64"},
		{"NaN", strings.Replace(good, `"jain":0.97`, `"jain":NaN`, 1), "jain: NaN is no number in JSON"},
		{"minus infinity", strings.Replace(good, `"jain":0.97`, `"jain": -Infinity`, 1), "jain: -Infinity is no number in JSON"},
		{"NaN of nothing", "{NaN}\n", "NaN is no number in JSON"},
		{"no ID", breakField(func(r *Record) { r.ID = "" }), "id: missing"},
		{"elapsed", breakField(func(r *Record) { r.Elapsed = -5 }), "elapsed_ns: -5 is negative"},
		{"no time", breakField(func(r *Record) { r.Elapsed = 0 }), "elapsed_ns: a whole trial took no time"},
		{"acquired", breakField(func(r *Record) { r.Counts.Acquired = -1 }), "counts.acquired: -1 is negative"},
		{"error class", breakField(func(r *Record) { r.Counts.Errors = map[string]int64{"auth": -2} }), "counts.errors.auth: -2 is negative"},
		{"event", breakField(func(r *Record) { r.Safety.Events[0].Key = -3 }), "safety.events[0].key: -3 is negative"},
		{"nodes", breakField(func(r *Record) { r.Plan.Nodes = 3 }), "counts.node_errors: of 5 nodes, and there are 3"},
		{"node error", breakField(func(r *Record) { r.Counts.NodeErrors[1] = -1 }), "counts.node_errors[1]: -1 is negative"},
		{"violations", breakField(func(r *Record) { r.Safety.Violations = 121 }), "safety.violations: 121 in 120 grants"},
		{"Jain", breakField(func(r *Record) { r.Fairness.Jain = 1.5 }), "fairness.jain: 1.5 is above 1"},
		{"starved", breakField(func(r *Record) { r.Fairness.Starved = 65 }), "fairness.starved: 65 of 64 clients"},
		{"disorder", hold(func(l *Latency) { l.P50 = l.P90 + 1 }), "latency.hold.p90_ns: 361215 is below p50_ns, 361216"},
		{"mean", hold(func(l *Latency) { l.Mean = 0 }), "latency.hold.mean_ns: 0 is not within 1000 and 3601330077695"},
		{"payload", hold(func(l *Latency) { l.HDR = "HISTFAAA" }), "latency.hold.hdr: payload does not decode: encoded histogram too short: got 6 bytes, need at least 8"},
		{"no payload", hold(func(l *Latency) { l.HDR = "" }), "latency.hold.hdr: no payload for 101 values"},
		{"payload count", hold(func(l *Latency) { l.Count++ }), "latency.hold.hdr: payload holds 101 values, but count is 102"},
		{"overflow", hold(func(l *Latency) { l.Overflow = 102 }), "latency.hold.overflow: 102 of 101 values"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ids, report, err := readString(good + c.bad + "\n  \n" + end)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(ids) != "[r1 r2]" || report.Records != 2 || report.Damaged != 1 {
				t.Errorf("records %v, report %+v", ids, report)
			}
			if want := (Damage{2, c.why}); len(report.Damage) != 1 || report.Damage[0] != want {
				t.Errorf("got  %v\nwant %v", report.Damage, want)
			}
		})
	}
}

func TestReadAccepts(t *testing.T) {
	good := line(t, numbered(1))
	for name, text := range map[string]string{
		"no newline at the end": strings.TrimSuffix(good, "\n"),
		"CRLF":                  strings.TrimSuffix(good, "\n") + "\r\n\r\n",
		"byte order mark":       "\ufeff" + good,
		"unknown field":         `{"later":[1,{}],` + good[1:],
		"unknown metric":        strings.Replace(good, `"latency":{`, `"latency":{"renew":{"count":0,"hdr":""},`, 1),
	} {
		ids, report, err := readString(text)
		if err != nil || len(ids) != 1 || report.Damaged != 0 {
			t.Errorf("%s: %v, %+v, %v", name, ids, report, err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	good := line(t, numbered(1))
	newer := strings.Replace(good, `"schema":1`, `"schema":2`, 1)
	newer = strings.Replace(newer, `"plan":{`, `"plan":[],"x":{`, 1) // its fields may be of other types
	for _, c := range []struct{ name, text, err string }{
		{"empty", "", "results: read: the input is empty: no records"},
		{"blank", "\n \r\n\t\n", "results: read: the input is empty: no records"},
		{"CSV", "name,locks\na,1\n", `results: read: not a file of lockbench records: line 1: not a JSON object: "name,locks"`},
		{"binary", "\x1f\x8b\x08\x00\x00\n\x00\x01", "results: read: not a file of lockbench records: line 1: binary data"},
		{"other JSON", `{"time":"now","msg":"x"}` + "\n", "results: read: not a file of lockbench records: line 1: a JSON object without a schema"},
		{"one torn record", good[:100], "results: read: no readable record: line 1: truncated: the file ends within the record"},
		{"newer", good + newer, "results: read: line 2: schema: 2 is newer than 1: written by a newer lockbench: read it with that one, or update this one"},
	} {
		_, _, err := readString(c.text)
		if err == nil || err.Error() != c.err {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, c.err)
		}
		if errors.Is(err, ErrNewerSchema) != (c.name == "newer") {
			t.Errorf("%s: errors.Is ErrNewerSchema is wrong", c.name)
		}
	}
}

type errorReader struct{ err error }

func (e errorReader) Read([]byte) (int, error) { return 0, e.err }

func TestReadBoundsLines(t *testing.T) {
	good := line(t, numbered(1))
	limit := len(good) - 1
	long := "{" + strings.Repeat(" ", 3*limit) + good[1:]
	var ids []string
	report, err := read(strings.NewReader(long+good+" "+good), lineReader{limit: limit}, func(r *Record) error { ids = append(ids, r.ID); return nil })
	if err != nil || len(ids) != 1 || report.Damaged != 2 || report.Damage[0].Line != 1 || report.Damage[1].Line != 3 {
		t.Errorf("%v, %+v, %v", ids, report, err)
	}
	if why := report.Damage[0].Why; why != "longer than 0 MiB" {
		t.Errorf("why: %s", why)
	}

	// Nothing is kept of a line that goes on and on.
	lines := lineReader{in: bufio.NewReader(io.LimitReader(zeroes{}, 4<<20)), limit: 1 << 20}
	if kept, err := lines.next(); err != nil || !lines.tooLong || cap(kept) > 0 || cap(lines.buf) > 0 {
		t.Errorf("%d bytes kept, too long %v, %v", cap(kept), lines.tooLong, err)
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestReadBoundsReport(t *testing.T) {
	_, report, err := readString(line(t, numbered(1)) + strings.Repeat("x\n", 3*maxDamage))
	if err != nil || report.Damaged != 3*maxDamage || len(report.Damage) != maxDamage {
		t.Errorf("%d damaged, %d listed, %v", report.Damaged, len(report.Damage), err)
	}
}

// FuzzRead feeds anything to the reader. Whatever it hands out must be valid, survive another round, and be grouped.
func FuzzRead(f *testing.F) {
	small := numbered(1)
	small.Latency = map[Metric]Latency{Hold: sampleLatencies()[Hold]}
	good := line(f, small)
	small.ID, small.Trial = "r2", 2
	other := line(f, small)
	fixture, err := os.ReadFile(filepath.Join("testdata", "schema1.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", "\n", good, good[:50] + "\n" + good, good + good, good + other, string(fixture), "a,b\n", "\x00\xff", "{}\n", `{"schema":9}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var recs []*Record
		report, err := Read(bytes.NewReader(raw), func(r *Record) error { recs = append(recs, r); return nil })
		if report.Records != len(recs) || report.Records+report.Damaged > bytes.Count(raw, []byte("\n"))+1 {
			t.Fatalf("%+v for %d records", report, len(recs))
		}
		if err == nil && len(recs) == 0 {
			t.Fatal("nothing read, and no error")
		}
		collects(t, raw, recs, err)
		var again []byte
		for _, r := range recs {
			if err := r.Validate(); err != nil {
				t.Fatal(err)
			}
			again = append(again, line(t, r)...)
		}
		if len(recs) > 0 {
			ids, report, err := readString(string(again))
			if err != nil || report.Damaged != 0 || len(ids) != len(recs) {
				t.Fatalf("second round: %d of %d, %+v, %v", len(ids), len(recs), report, err)
			}
		}
	})
}

// collects checks that a collector makes of a file what Read has found in it, each trial once.
func collects(t *testing.T, raw []byte, recs []*Record, failed error) {
	t.Helper()
	ids := map[string]bool{}
	for _, r := range recs {
		ids[r.ID] = true
	}
	for _, outline := range []bool{false, true} {
		c := Collector{Outline: outline}
		report, err := c.Read(bytes.NewReader(raw))
		if (err == nil) != (failed == nil) {
			t.Fatalf("Read: %v, the collector: %v", failed, err)
		}
		trials, duplicates := 0, 0
		for _, cell := range c.Cells() {
			trials += len(cell.Trials)
			duplicates += cell.Duplicates
			for m, l := range cell.Latency {
				if h, err := l.Histogram(); err != nil || h.TotalCount() != l.Count {
					t.Fatalf("%s: another histogram than one of %d values; %v", m, l.Count, err)
				}
			}
		}
		// A duplicate is left out before anybody looks at its histograms, so it may be one that Read finds damaged.
		if trials != len(ids) || report.Records != trials+duplicates || duplicates != c.Duplicates() || report.Records < len(recs) {
			t.Fatalf("%d trials and %d duplicates (%d) of %d records with %d IDs, %+v",
				trials, duplicates, c.Duplicates(), len(recs), len(ids), report)
		}
	}
}
