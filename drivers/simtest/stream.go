package simtest

// Streams: connections of client libraries, over which bytes travel instead of messages.

import (
	"fmt"
	"net"
	"time"
)

// Connect returns the end of a client's connection to a server, whose own end is server. What is written at one end
// arrives at the other in the same order, after a delay. Nothing is lost.
func (w *World) Connect(id int, server net.Conn) net.Conn {
	near, far := net.Pipe()
	name := fmt.Sprintf("c%d", id)
	out := &link{Actor: newActor(w, 2*id, "%s>server", name)}
	back := &link{Actor: newActor(w, 2*id+1, "server>%s", name)}
	go out.stream(far, server)
	go back.stream(server, far)
	return near
}

// chunk is what was written at once.
type chunk struct {
	at    time.Duration // when it arrives
	bytes []byte        // empty at the end
}

// stream carries bytes until one of the ends is closed.
func (k *link) stream(from, to net.Conn) {
	flight := make(chan chunk, 1024)
	go func() {
		for c := range flight {
			time.Sleep(c.at - k.w.Now())
			if len(c.bytes) == 0 {
				break
			}
			k.Log("%d bytes", len(c.bytes))
			if _, err := to.Write(c.bytes); err != nil {
				break
			}
		}
		to.Close()
		from.Close()
		for range flight { // until the other goroutine has noticed
		}
	}()
	defer close(flight)
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		k.mu.Lock()
		at := k.instant(max(k.w.Now()+k.delay(), k.last) + 1)
		k.last = at
		k.mu.Unlock()
		flight <- chunk{at, append([]byte(nil), buffer[:n]...)}
		if err != nil {
			return
		}
	}
}
