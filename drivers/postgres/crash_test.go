package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// As many clients as the server accepts die one after the other and come again at once: their connections are freed,
// here and on the server, and so is what they held.
func TestCrashAtTheLimit(t *testing.T) {
	address := server(t)
	ask(t, address, "CREATE ROLE few LOGIN CONNECTION LIMIT 5")
	ask(t, address, "CREATE DATABASE few OWNER few")
	t.Cleanup(func() {
		ask(t, address, "DROP DATABASE few WITH (FORCE)")
		ask(t, address, "DROP ROLE few")
	})
	forDesigns(t, func(t *testing.T, lock string) {
		s := open(t, drivers.Config{Lock: lock, Addrs: []string{address}, Username: "few", Database: "few"})
		clients := make([]*session, 4) // and the service's own connection
		for i := range clients {
			clients[i] = newSession(t, s)
		}
		connections := len(s.conns)
		before := s.Traffic().RoundTrips
		const rounds = 5
		for range rounds {
			for i, c := range clients {
				testwait.Until(t, "the lock of a dead client is free", func() bool {
					held, err := c.Try(t.Context(), &drivers.Lease{Key: "k"})
					if err != nil {
						t.Fatal(err)
					}
					return held
				})
				c.Crash()
				clients[i] = newSession(t, s)
			}
		}
		if len(s.conns) != connections {
			t.Errorf("%d connections before, %d after", connections, len(s.conns))
		}
		if trips := s.Traffic().RoundTrips - before; trips < rounds*int64(len(clients)) {
			t.Errorf("%d round trips: what dead clients have asked is not counted", trips)
		}
		comeAgain(t, s, clients[0], address)
	})
}

// comeAgain: a full server takes a moment to notice that a client has died. The client that replaces it waits for that;
// a client that comes when none has died gets the error that the server is full.
func comeAgain(t *testing.T, s *service, c *session, address string) {
	died := s.crashes.Swap(0)
	if _, err := s.Session(t.Context(), 0); drivers.ClassOf(err) != drivers.ClassLimit {
		t.Errorf("a session more than the server takes: %v", err)
	}
	s.crashes.Store(died)
	c.Crash()
	var inTheWay *pgx.Conn
	testwait.Until(t, "the place of the dead client can be had", func() (ok bool) {
		var err error
		inTheWay, err = s.connect(t.Context())
		return err == nil
	})
	defer inTheWay.Close(context.Background())
	before := s.Traffic().RoundTrips
	come := make(chan error, 1)
	go func() {
		one, err := s.Session(t.Context(), 0)
		if err == nil {
			err = one.(*session).Close()
		}
		come <- err
	}()
	testwait.Until(t, "the client that comes asks again", func() bool { return s.Traffic().RoundTrips >= before+2 })
	inTheWay.Close(t.Context())
	if err := <-come; err != nil {
		t.Error(err)
	}
}
