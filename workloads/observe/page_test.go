package observe

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// stream reads the events of a page.
type stream struct {
	*bufio.Scanner
	close func()
}

func read(t *testing.T, url string) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	s := &stream{bufio.NewScanner(answer.Body), func() { cancel(); answer.Body.Close() }}
	t.Cleanup(s.close)
	if answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status)
	}
	return s
}

// next returns an event as a browser takes it: its name, and its lines of data.
func (s *stream) next(t *testing.T) (event string) {
	t.Helper()
	var data []string
	for s.Scan() {
		name, value, _ := strings.Cut(s.Text(), ": ")
		switch name {
		case "":
			return event + "=" + strings.Join(data, "|")
		case "event":
			event = value
		case "data":
			data = append(data, value)
		}
	}
	return "over"
}

func wantEvents(t *testing.T, s *stream, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := s.next(t); got != w {
			t.Fatalf("%q, want %q", got, w)
		}
	}
}

func TestPage(t *testing.T) {
	page := NewPage([]byte("<p>a page"), "default-src 'none'")
	server, err := Listen(t.Context(), "127.0.0.1:0", "test", page)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(server.PageURL())
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || string(text) != "<p>a page" || answer.Header.Get("Content-Security-Policy") != "default-src 'none'" {
		t.Errorf("%q, %v, %v", text, answer.Header, err)
	}

	page.Send("part", []byte("one"))
	first := read(t, server.PageURL())
	wantEvents(t, first, "part=one")
	page.Send("part", []byte("two\nlines"))
	page.Send("other", nil)
	wantEvents(t, first, "part=two|lines", "other=")
	late := read(t, server.PageURL()) // has what there is, and nothing that was replaced
	wantEvents(t, late, "part=two|lines", "other=")
	first.close()
	page.Send("part", []byte("three"))
	page.Send("part", []byte("four"))
	page.End()
	for got := ""; got != "part=four"; got = late.next(t) {
		if got == "over" {
			t.Fatal("the stream ended without the last event")
		}
	}
	wantEvents(t, late, "over")
	wantEvents(t, read(t, server.PageURL()), "other=", "part=four", "over")
}

// TestPageReaders: there may be so many at once, and who leaves makes room.
func TestPageReaders(t *testing.T) {
	page := NewPage(nil, "")
	for range maxScrapes {
		if !page.enter(1) {
			t.Fatal("a reader was refused")
		}
	}
	if page.enter(1) || !page.enter(-1) || !page.enter(1) {
		t.Error("one too many was let in, or none after one had left")
	}
}

// TestPageSlowReader: who does not read keeps nobody from sending, and misses what was replaced meanwhile.
func TestPageSlowReader(t *testing.T) {
	page := NewPage(nil, "")
	server, err := Listen(t.Context(), "127.0.0.1:0", "test", page)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	page.Send("part", []byte("0"))
	slow := read(t, server.PageURL())
	wantEvents(t, slow, "part=0")
	big := strings.Repeat("x", 60<<10) // a scanner takes no longer line
	const sent = 1000                  // 60 MB, more than any socket keeps
	for range sent {
		page.Send("part", []byte(big))
	}
	page.Send("last", nil)
	got := 0
	for slow.next(t) != "last=" {
		got++
	}
	if got == 0 || got >= sent {
		t.Errorf("a slow reader had %d of %d drawings", got, sent)
	}
}
