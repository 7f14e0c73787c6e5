package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// TestCancelOvertakes: the server gets a cancel request before the statement, so that the request does nothing. The
// wait must still end, long before its own time limit.
func TestCancelOvertakes(t *testing.T) {
	const cancelRequest = 80877102 // the code in place of a version
	forDesigns(t, func(t *testing.T, lock string) {
		u, err := url.Parse(server(t))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var armed atomic.Bool // the next statement ends ctx, and waits until the server has got a cancel request
		canceled := make(chan struct{})
		u.Host = relay(t, u.Host, func(client, server net.Conn) {
			go func() {
				defer client.Close()
				io.Copy(client, server)
			}()
			for b := make([]byte, 4096); ; {
				n, err := client.Read(b)
				if err != nil {
					return
				}
				canceling := n >= 8 && binary.BigEndian.Uint32(b[4:]) == cancelRequest
				if armed.Load() && !canceling {
					cancel()
					<-canceled
				}
				server.Write(b[:n])
				if canceling {
					server.Read(b) // its end, after the signal
					if armed.Swap(false) {
						close(canceled)
					}
					return
				}
			}
		})
		svc := open(t, drivers.Config{Lock: lock, Addrs: []string{u.String()}, Clients: 2, IOTimeout: 10 * time.Minute})
		holder, waiting := newSession(t, svc), newSession(t, svc)
		held, l := &drivers.Lease{Key: "k", TTL: time.Hour}, &drivers.Lease{Key: "k", TTL: time.Hour}
		mustTry(t, holder, held, true)
		mustTry(t, waiting, l, false)
		armed.Store(true)
		defer time.AfterFunc(time.Minute, func() { svc.Close() }).Stop() // otherwise it waits for its own time limit
		if err := waiting.Wait(ctx, l); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		mustRelease(t, holder, held, true)
	})
}
