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
