package cli

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/cmd/cli/progress"
)

// TestInterruptedStart: a signal while conformance starts its server is an interruption, and not an error.
func TestInterruptedStart(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(&interruption{os.Interrupt})
	discard := &progress.Writer{W: io.Discard}
	p := &program{stdout: discard, stderr: discard, env: environment()}
	if code := p.execute(ctx, []string{"conformance", "-driver", "go-redis"}); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
}

// What cannot be printed costs the exit code, also of commands that print no result.
func TestPrintErrors(t *testing.T) {
	in, out := io.Pipe()
	in.Close()
	for _, line := range []string{"", "help", "help plan", "help lease", "version", "schema", "completion bash", "-dry-run"} {
		var errs strings.Builder
		code := run(strings.Fields(line), nil, out, &errs, environment(), nil)
		if code != exitError || !strings.Contains(errs.String(), "closed pipe") {
			t.Errorf("lockbench %s: exit code %d, %q", line, code, &errs)
		}
	}
}
