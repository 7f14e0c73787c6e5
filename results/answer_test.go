package results

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAnswerAmongRecords: an answer counts if it is the last line and whole, and is never taken for a record.
func TestAnswerAmongRecords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plan.jsonl")
	add := Appender{Path: file}
	read := func() Report {
		t.Helper()
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		report, err := Read(f, func(*Record) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	for i, answer := range []string{"", "first", "second"} {
		if err := add.Append(smallRecord(i + 1)); err != nil {
			t.Fatal(err)
		}
		if r := read(); r.Answer != nil || r.Records != i+1 || r.Damaged != 0 {
			t.Errorf("%d records: %+v", i+1, r)
		}
		if err := add.AppendAnswer(answer); err != nil {
			t.Fatal(err)
		}
		if r := read(); string(r.Answer) != `"`+answer+`"` || r.Records != i+1 || r.Damaged != 0 {
			t.Errorf("%d records with an answer: %+v", i+1, r)
		}
	}
	whole, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, whole[:len(whole)-3], 0o600)
	}
	if r := read(); err != nil || r.Answer != nil || !r.Torn || r.Records != 3 {
		t.Errorf("torn: %+v, %v", r, err)
	}
}
