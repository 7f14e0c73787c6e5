package draw

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	report "github.com/lockbench/lockbench/results/report/new"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares what is drawn with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; look at it, then run with -update", path)
	}
}

func TestPage(t *testing.T) {
	var out bytes.Buffer
	if err := Page(&out, sample()); err != nil {
		t.Fatal(err)
	}
	golden(t, "sample.html", out.Bytes())
}

func TestSVG(t *testing.T) {
	charts := map[string]*report.Chart{"bars": sampleChart(report.Bars), "spans": sampleChart(report.Spans), "changes": sampleChart(report.Changes),
		"lanes": sampleChart(report.Lanes), "lines": sampleChart(report.Lines), "percentiles": percentiles(), "fit": fit()}
	for name, c := range charts {
		var out bytes.Buffer
		if err := SVG(&out, c); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".svg", out.Bytes())
	}
}
