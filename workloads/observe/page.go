// The page that is read while a run goes on.

package observe

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Page is a web page with parts that change. They are sent to all who read it as server-sent events, which are made once, whoever
// reads. A reader that is slow misses what was replaced meanwhile.
type Page struct {
	HTML   []byte // without the parts
	Policy string // its Content-Security-Policy

	mu      sync.Mutex
	events  []event       // the last of each name, in the order in which they came
	sent    int           // number of the last one
	over    bool          // no more come
	changed chan struct{} // closed when there is another
	readers int
}

type event struct {
	name   string
	number int
	text   []byte // as it is sent
}

// NewPage returns a page without a part.
func NewPage(html []byte, policy string) *Page {
	return &Page{HTML: html, Policy: policy, changed: make(chan struct{})}
}

// Send sends an event to all readers, in place of the last one of that name to those who have not had it, or come later.
func (p *Page) Send(name string, data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent++
	text := fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, bytes.ReplaceAll(data, []byte("\n"), []byte("\ndata: ")))
	p.events = append(slices.DeleteFunc(p.events, func(e event) bool { return e.name == name }), event{name, p.sent, text})
	p.wake()
}

// End ends the streams of all readers when they have had what was sent.
func (p *Page) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.wake()
}

func (p *Page) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// after returns what was sent after an event, and what tells when there is more; nil if there will be no more.
func (p *Page) after(number int) (text []byte, last int, more <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.events {
		if e.number > number {
			text = append(text, e.text...)
		}
	}
	if p.over {
		return text, p.sent, nil
	}
	return text, p.sent, p.changed
}

// ServeHTTP writes the page or, to its script, the events.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Cache-Control", "no-store")
	head.Set("Vary", "Accept")
	head.Set("Content-Security-Policy", p.Policy)
	head.Set("X-Content-Type-Options", "nosniff")
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		head.Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(p.HTML)
		return
	}
	if !p.enter(1) {
		http.Error(w, "too many readers", http.StatusServiceUnavailable)
		return
	}
	defer p.enter(-1)
	head.Set("Content-Type", "text/event-stream")
	stream := http.NewResponseController(w)
	for text, last, more := p.after(0); ; text, last, more = p.after(last) {
		_ = stream.SetWriteDeadline(time.Now().Add(scrapeTimeout)) // who is slower has gone
		if _, err := w.Write(text); err != nil || stream.Flush() != nil || more == nil {
			return
		}
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
	}
}

// enter adds n to the number of readers, and reports whether there may be as many.
func (p *Page) enter(n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > 0 && p.readers >= maxScrapes {
		return false
	}
	p.readers += n
	return true
}
