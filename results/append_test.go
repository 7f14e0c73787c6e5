package results

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func readFile(t *testing.T, path string) ([]*Record, Report) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var recs []*Record
	report, err := Read(f, func(r *Record) error { recs = append(recs, r); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return recs, report
}

func mustAppend(t *testing.T, path string, r *Record) {
	t.Helper()
	if err := (&Appender{Path: path}).Append(r); err != nil {
		t.Fatal(err)
	}
}

// inLiteral reports whether a cut leaves a piece of true or false, or of a character of several bytes.
func inLiteral(torn []byte) bool {
	for _, end := range []string{":t", ":tr", ":f", ":fals", "\xc2"} {
		if bytes.HasSuffix(torn, []byte(end)) {
			return true
		}
	}
	return false
}

// TestTornLine cuts the last line wherever a crash might and checks that nothing else is lost.
func TestTornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.jsonl")
	mustAppend(t, path, numbered(1))
	one, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, path, numbered(2))
	two, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := len(one); cut <= len(two); cut++ {
		if cut-len(one) > 5 && len(two)-cut > 5 && cut%211 != 0 && !inLiteral(two[:cut]) {
			continue
		}
		if err := os.WriteFile(path, two[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		whole := cut >= len(two)-1 // all but perhaps the newline
		_, report := readFile(t, path)
		if torn := !whole && cut > len(one); torn != (report.Damaged == 1) {
			t.Errorf("cut at %d of %d: %v", cut, len(two), report.Damage)
		} else if torn && report.Damage[0].String() != "line 2: truncated: the file ends within the record" {
			t.Errorf("cut at %d: %s", cut, report.Damage[0])
		}
		mustAppend(t, path, numbered(3))
		recs, after := readFile(t, path)
		want := 2
		if whole {
			want = 3
		}
		if len(recs) != want || after.Damaged != report.Damaged {
			t.Errorf("cut at %d of %d, then appended: %d records of %d, %v", cut, len(two), len(recs), want, after.Damage)
		}
		if after.Damaged == 1 && after.Damage[0].Why != "truncated: the line ends within the record" {
			t.Errorf("cut at %d, then appended: %s", cut, after.Damage[0])
		}
	}
}

func TestAppendConcurrently(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.jsonl")
	if err := os.WriteFile(path, []byte(`{"schema":1,"torn`), 0o600); err != nil {
		t.Fatal(err)
	}
	const writers, each = 4, 8
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := (&Appender{Path: path}).Append(numbered(1 + w*each + i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	recs, report := readFile(t, path)
	if len(recs) != writers*each || report.Damaged != 1 {
		t.Errorf("%d records of %d, damage %v", len(recs), writers*each, report.Damage)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte("\n\n")) {
		t.Error("two writers both mended the torn line")
	}
}

func TestAppendRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.jsonl")
	err := (&Appender{Path: filepath.Join(path, "in", "no", "directory")}).Append(numbered(1))
	if err == nil || !strings.HasPrefix(err.Error(), "results: append: ") {
		t.Errorf("error %v", err)
	}
}
