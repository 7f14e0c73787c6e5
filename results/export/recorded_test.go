package export

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/pagetest"
)

// sentences are what a value may be said in. No digest has them, so that better words change none.
var sentences = regexp.MustCompile(`(?m)^#.*|"(text|means|why)": ".*"|message="[^"]*"|<!\[CDATA\[(?s:.*?)]]>|\s*<system-out>(?s:.*?)</system-out>`)

// TestRecordedValues holds every value of every recorded file, in each form, to a digest.
func TestRecordedValues(t *testing.T) {
	files, err := filepath.Glob("../../scripts/recorded/*.jsonl.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	limits, err := compare.ParseThresholds(onAll)
	if err != nil {
		t.Fatal(err)
	}
	var digests strings.Builder
	for _, file := range files {
		var all results.Collector
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := all.Read(results.Inflate(f)); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		cells := all.Cells()
		check := compare.CheckCells(cells, limits, nil)
		for _, form := range []struct {
			name  string
			write func(io.Writer) error
		}{
			{"csv", func(w io.Writer) error { return CSV(w, cells) }},
			{"benchfmt", func(w io.Writer) error { return Benchfmt(w, cells) }},
			{"json", func(w io.Writer) error { return CheckJSON(w, check) }},
			{"junit", func(w io.Writer) error { return JUnitCheck(w, check) }},
		} {
			var b bytes.Buffer
			if err := form.write(&b); err != nil {
				t.Fatalf("%s: %s: %v", file, form.name, err)
			}
			name := strings.TrimSuffix(filepath.Base(file), ".jsonl.gz")
			fmt.Fprintf(&digests, "%s %s %x\n", name, form.name, sha256.Sum256(sentences.ReplaceAll(b.Bytes(), nil)))
		}
	}
	pagetest.Golden(t, "recorded.sha256", digests.String())
}
