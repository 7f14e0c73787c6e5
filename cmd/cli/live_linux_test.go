package cli

import (
	"os"
	"testing"

	"github.com/lockbench/lockbench/cmd/cli/progress"
)

// TestDumbTerminal: a terminal that has no escape sequences gets lines.
func TestDumbTerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	for term, erases := range map[string]bool{"dumb": false, "xterm": true, "": true} {
		w := &observer{program: &program{stderr: &progress.Writer{W: terminal}, env: environment("TERM", term)}}
		if err := w.open(t.Context(), new(options), ""); err != nil {
			t.Fatal(err)
		}
		if (w.columns > 0) != erases {
			t.Errorf("TERM=%s: a line of %d columns", term, w.columns)
		}
	}
}
