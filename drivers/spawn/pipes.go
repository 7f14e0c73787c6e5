package spawn

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// StartPiped is Start with pipes to the standard input of cmd and from its standard output, of which it returns this
// process's ends.
func StartPiped(cmd *exec.Cmd) (p *Process, in, out *os.File, err error) {
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, errors.Join(err, stdin.Close(), in.Close())
	}
	cmd.Stdin, cmd.Stdout = stdin, stdout
	p, err = Start(cmd)
	_, _ = stdin.Close(), stdout.Close()
	if err != nil {
		return nil, nil, nil, errors.Join(err, in.Close(), out.Close())
	}
	return p, in, out, nil
}

// Tail keeps the end of what a process says, as on standard error.
type Tail struct {
	Hide func(text string) string // hides secrets

	mu   sync.Mutex
	text []byte
	cut  bool // before text, perhaps in the middle of a secret
}

const maxTail = 2 << 10 // and twice as much is kept, so that what is left of a secret is in the first half

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if excess := len(t.text) - 2*maxTail; excess > 0 {
		t.text, t.cut = t.text[excess:], true
	}
	return len(p), nil
}

// String returns the end without secrets.
func (t *Tail) String() string {
	t.mu.Lock()
	text, cut := string(t.text), t.cut
	t.mu.Unlock()
	if text = t.Hide(text); cut {
		text = text[min(len(text), maxTail):]
	}
	return strings.TrimSpace(strings.ToValidUTF8(text[max(0, len(text)-maxTail):], ""))
}
