package cli

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMetricsPortTaken names the flag, and says it before anything is measured.
func TestMetricsPortTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var stderr strings.Builder
	code := run([]string{"-driver", "memory", "-duration", "1h", "-metrics-addr", taken.Addr().String()}, nil, io.Discard, &stderr, nil, nil)
	want := "lockbench: -metrics-addr " + taken.Addr().String() + ": "
	if code != exitError || !strings.HasPrefix(stderr.String(), want) || !strings.Contains(stderr.String(), "in use") {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
}

// TestIntervalLogReplaces an older log, and nothing else.
func TestIntervalLogReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.hlog")
	for _, test := range []struct {
		text string
		ok   bool
	}{{"", true}, {"#[Histogram log format version " + "1.3]\n", true}, {"#[Histogram log format version ", true}, {"#[Histogram log", false}, {"milk, eggs\nand a lot of other things\n", false}} {
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := checkIntervalLog(path); (err == nil) != test.ok {
			t.Errorf("%q: %v", test.text, err)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != test.text {
			t.Errorf("%q has become %q (%v)", test.text, now, err)
		}
	}
}
