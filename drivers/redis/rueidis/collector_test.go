package rueidis

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// answering is a connection whose server answers a write after a while.
type answering struct {
	net.Conn
	after   time.Duration
	answers chan struct{}
	over    chan struct{}
}

func (a *answering) Write(b []byte) (int, error) {
	time.AfterFunc(a.after, func() { a.answers <- struct{}{} })
	return len(b), nil
}

func (a *answering) Read([]byte) (int, error) {
	select {
	case <-a.answers:
		return 1, nil
	case <-a.over:
		return 0, io.EOF
	}
}

const oneCommand = "*1\r\n$4\r\nPING\r\n"

// TestCollector holds a writer back until there are answers, at most for a while, and not if that helps nobody.
func TestCollector(t *testing.T) {
	for _, test := range []struct {
		name     string
		commands string
		writes   int
		reads    bool
		answer   time.Duration
		want     time.Duration // that all writes take
	}{
		{"until the answer", oneCommand + oneCommand, 10, true, 30 * time.Microsecond, 10 * 30 * time.Microsecond},
		{"no longer than the limit", oneCommand + oneCommand, 10, true, time.Second, 10 * collectFor},
		{"nobody reads", oneCommand + oneCommand, 10, false, time.Second, 0},
		{"alone", oneCommand, 3 * askAgain, true, 30 * time.Microsecond, (manyAlone - 1 + 3) * 30 * time.Microsecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answering{after: test.answer, answers: make(chan struct{}, test.writes), over: make(chan struct{})}
				c := newCollector(a)
				if test.reads {
					go func() {
						for {
							if _, err := c.Read(nil); err != nil {
								return
							}
						}
					}()
				}
				took := time.Duration(0)
				for range test.writes {
					synctest.Wait()
					began := time.Now()
					if _, err := c.Write([]byte(test.commands)); err != nil {
						t.Fatal(err)
					}
					took += time.Since(began)
					time.Sleep(time.Millisecond) // the answer has been read
				}
				if took != test.want {
					t.Errorf("%d writes took %v, want %v", test.writes, took, test.want)
				}
				time.Sleep(2 * time.Second)
				close(a.over)
			})
		})
	}
}

// TestCollectorSeesCompany waits again as soon as a write has two commands.
func TestCollectorSeesCompany(t *testing.T) {
	c := newCollector(nil)
	for range askAgain - 1 {
		c.company([]byte(oneCommand))
	}
	if c.alone++; c.company([]byte(oneCommand)) {
		t.Error("company after as many single commands")
	}
	if !c.company([]byte(oneCommand+oneCommand)) || !c.company([]byte(oneCommand)) {
		t.Error("no company of two commands, or after them")
	}
}
