// Package progress has a status line that shares a terminal with messages.
package progress

import (
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/lockbench/lockbench/results/format"
)

// Writer lets messages and a status line share a terminal: a message takes the status line's place. It is safe for
// concurrent use.
type Writer struct {
	W     io.Writer
	Scrub func(string) string // changes each message, which is written whole; may be nil

	mu    sync.Mutex
	drawn bool
}

const eraseLine = "\r\x1b[K"

func (w *Writer) Write(p []byte) (int, error) {
	return len(p), w.replace(string(p), false)
}

// Status replaces the status line; an empty one takes it away.
func (w *Writer) Status(text string) { _ = w.replace(text, text != "") }

// replace writes a text in the place of the status line, which it may be.
func (w *Writer) replace(text string, status bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Scrub != nil {
		text = w.Scrub(text)
	}
	if w.drawn {
		text = eraseLine + text
	}
	w.drawn = status
	_, err := io.WriteString(w.W, text)
	return err
}

// Still keeps a message, which may quote a file or a server, from moving the cursor.
func Still(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return format.Visible(r)
	}, text)
}

// Terminal returns the width of the terminal that w is, in columns; 0 if it is none.
func Terminal(w *Writer) (columns int) {
	f, ok := w.W.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 {
		return 80
	}
	return columns
}
