package fleettest

import (
	"net"
	"time"
)

// Relay forwards connections to what dial reaches, with a delay on the way there and another one on the way back.
func Relay(l net.Listener, there, back time.Duration, dial func() (net.Conn, error)) {
	for {
		from, err := l.Accept()
		if err != nil {
			return
		}
		to, err := dial()
		if err != nil {
			_ = from.Close()
			continue
		}
		go forward(to, from, there)
		go forward(from, to, back)
	}
}

// forward copies in order, each piece when its delay is over, and ends both ends with the first.
func forward(to, from net.Conn, delay time.Duration) {
	type piece struct {
		due  time.Time
		text []byte
	}
	pieces := make(chan piece, 1000)
	go func() {
		defer close(pieces)
		for {
			buf := make([]byte, 32<<10)
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			pieces <- piece{time.Now().Add(delay), buf[:n]}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.text); err != nil {
			break
		}
	}
	_, _ = to.Close(), from.Close()
	for range pieces {
	}
}
