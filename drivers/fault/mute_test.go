package fault_test

import (
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers/fault"
)

// Connections that have fallen silent stay so, new ones work, and Resume cuts the old ones.
func TestSilence(t *testing.T) {
	target, got := echo(t, "tcp")
	p := newProxy(t, target)
	c := dial(t, p)
	c.send("a\n")
	c.expect("a\n")
	expectServed(t, got, "a\n")
	p.Silence()
	c.send("b\n")
	expectServed(t, got, "b\n")
	until(t, "the reply is lost", func() int64 { return p.Bytes(fault.Replies).Dropped }, 2)
	other := dial(t, p)
	other.send("c\n")
	other.expect("c\n")
	c.expectSilence()
	p.Resume()
	c.expectEnd()
	other.send("d\n")
	other.expect("d\n")
}

// A connection made while Mute ends is refused or works: it must not have lost the beginning of the server's messages.
func TestNoConnectionOutlastsMute(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Write([]byte("hello"))
			defer conn.Close()
		}
	}()
	p := newProxy(t, listener.Addr().String())
	for range 100 {
		restore := p.Mute()
		var all sync.WaitGroup
		over := make(chan struct{})
		for range 4 {
			all.Go(func() {
				for last := false; !last; {
					select {
					case <-over:
						last = true
					default:
					}
					conn, err := net.Dial("tcp", p.Addr())
					if err != nil {
						continue
					}
					conn.SetReadDeadline(time.Now().Add(bound))
					if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
						t.Error("a connection has survived, and heard nothing")
						last = true
					}
					conn.Close()
				}
			})
		}
		restore()
		close(over)
		all.Wait()
		if t.Failed() {
			return
		}
	}
}
