package cli

import (
	"context"
	"io"
	"os"
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
