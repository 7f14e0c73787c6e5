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

// TestCollector holds a writer back until there are answers, at most for a while, and not if that helps nobody.
func TestCollector(t *testing.T) {
	const writes = 3 * askAgain
	for _, test := range []struct {
		name   string
		size   int // of each write
		reads  bool
		answer time.Duration
		want   time.Duration // that all writes take
	}{
		{"until the answer", crowd, true, 30 * time.Microsecond, writes * 30 * time.Microsecond},
		{"no longer than the limit", crowd, true, time.Second, writes * collectFor},
		{"answers in parts", inParts, true, 30 * time.Microsecond, writes * collectFor},
		{"nobody reads", crowd, false, time.Second, 0},
		{"no crowd", crowd - 1, true, 30 * time.Microsecond, (maySmall + writes/askAgain) * 30 * time.Microsecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answering{after: test.answer, answers: make(chan struct{}, writes), over: make(chan struct{})}
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
				for range writes {
					synctest.Wait()
					began := time.Now()
					if _, err := c.Write(make([]byte, test.size)); err != nil {
						t.Fatal(err)
					}
					took += time.Since(began)
					time.Sleep(time.Millisecond) // the answer has been read
				}
				if took != test.want {
					t.Errorf("the writes took %v, want %v", took, test.want)
				}
				time.Sleep(2 * time.Second)
				close(a.over)
			})
		})
	}
}

// TestCollectorSeesCompany begins to wait, and ends it, with the size of the write after a wait.
func TestCollectorSeesCompany(t *testing.T) {
	c := newCollector(nil)
	for i := range 10 * askAgain {
		alone := i < 3*askAgain || i >= 6*askAgain
		size := crowd
		if alone {
			size = 100
		}
		if c.waited = c.company(size); i%askAgain == askAgain-2 && c.waited == alone {
			t.Errorf("write %d of %d bytes waits: %v", i, size, c.waited)
		}
	}
}
