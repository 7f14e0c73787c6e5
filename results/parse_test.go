package results

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// sameAsJSON checks parse against json.Unmarshal: the record, and what is wrong with it.
func sameAsJSON(t *testing.T, line []byte) {
	t.Helper()
	var got, want Record
	gotErr, wantErr := parse(line, &got), json.Unmarshal(line, &want)
	if !reflect.DeepEqual(gotErr, wantErr) || !reflect.DeepEqual(got, want) {
		t.Errorf("%.200s\ngot  %v, %+v\nwant %v, %+v", line, gotErr, got, wantErr, want)
	}
}

// oddLines have histograms where, and as, nobody writes them.
var oddLines = []string{
	``, `null`, `{}`, `{"hdr":"`, `{"hdr":"x"}`, `{"latency":null}`,
	`{"latency":{"hold":{"hdr":"A"},"hold":{"hdr":"B"}}}`,
	`{"latency":{"hold":{"hdr":"A","hdr":"B"}}}`,
	`{"latency":{"hold":{"hdr":"A","HDR":"B"}}}`,
	`{"latency":{"hold":{"hdr":"A","hdr":5}}}`,
	`{"latency":{"hold":{"hdr":"a\u0041\n"}}}`, `{"latency":{"hold":{"hdr":"a\"b"}}}`,
	`{"latency":{"hold":{"hdr":"` + "a\tb" + `"}}}`,
	`{"latency":{"hold":{"hdr":"A"}},"env":{"libraries":{"hdr":"v1","x\"hdr":"v2"}}}`,
	`{"latency":{"hold":{"HDR":"\u00010"}},"env":{"libraries":{"hdr":"v1"}}}`,
	`{"latency":{"hold":{"HDR":"\u000199"}},"env":{"libraries":{"hdr":"v1"}}}`,
	`{"latency":{"hold":{"hdr" : "A"},"renew":{"hdr":"B"}},"classes":[{"latency":{"hold":{"hdr":"C"}}},{}]}`,
	`{"later":{"hdr":"A"},"latency":{"hold":{"hdr":"B"}}}`,
	`{"latency":{"hold":{"hdr":"A"}}`, `{"latency":{"hold":{"hdr":"A"}},"cell":"x"}`,
}

func TestParseAsJSONDoes(t *testing.T) {
	for _, odd := range oddLines {
		sameAsJSON(t, []byte(odd))
	}
	good := line(t, numbered(1))
	sameAsJSON(t, []byte(good))
	for cut := range good {
		if cut%97 == 0 {
			sameAsJSON(t, []byte(good[:cut]))
		}
	}
	if _, payloads, ok := withoutPayloads([]byte(good)); !ok || len(payloads) != strings.Count(good, `"hdr"`) {
		t.Errorf("%d histograms apart, %v", len(payloads), ok)
	}
}

// FuzzParse: parsing without histograms is not to be told from parsing with them.
func FuzzParse(f *testing.F) {
	for _, odd := range oddLines {
		f.Add([]byte(odd))
	}
	small := numbered(1)
	small.Latency = map[Metric]Latency{Hold: sampleLatencies()[Hold]}
	f.Add([]byte(line(f, small)))
	f.Fuzz(sameAsJSON)
}

// TestParseAllocates: what reading a long record takes does not grow with its histograms, but for what they are kept in.
func TestParseAllocates(t *testing.T) {
	r := bigRecord(0, 1, bigLatencies(1, 2000))
	text := []byte(line(t, r))
	if n := testing.AllocsPerRun(20, func() {
		if err := r.validate(false); err != nil {
			t.Fatal(err)
		}
	}); n > 60 {
		t.Errorf("%v allocations to validate a record with %d intervals", n, len(r.Series))
	}
	var rec Record
	if n := testing.AllocsPerRun(20, func() {
		rec = Record{}
		if err := parse(text, &rec); err != nil {
			t.Fatal(err)
		}
	}); n > 400 {
		t.Errorf("%v allocations to parse it", n)
	}
}
