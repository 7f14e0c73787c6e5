package fault_test

import (
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"time"
)

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
