// get-lock is GET_LOCK and RELEASE_LOCK, the server's locks by name, used by Rails and many migration tools. They
// belong to a connection and exist in memory only; transactions and replication ignore them.
package mysql

import (
	"context"

	"github.com/lockbench/lockbench/drivers"
)

var getLock = kind{
	Design: drivers.Design{
		Name:   "get-lock",
		Traits: drivers.Traits{Exclusive: true, Owned: true, Session: true, Waits: true, Reentrant: true, Fair: true},
		Models: "GET_LOCK(name, 0) and RELEASE_LOCK(name); waiters sleep in GET_LOCK(name, t). " +
			"A name applies to the whole server, and is hashed beyond 64 characters, which is MySQL's limit",
		Wrong: "a broken connection frees its locks under their holder: no fence; " +
			"a connection for each client; a name locks one server only, whatever is replicated",
		Loses: []drivers.Hazard{
			drivers.HazardConnectionCut, drivers.HazardHalfOpen, drivers.HazardMissedWakeup, drivers.HazardPooler, drivers.HazardRestartEmpty,
			drivers.HazardFailover,
		},
	},
	pinned:  true,
	limits:  []string{"wait_timeout"},
	session: func(s *session) drivers.Session { return &nameSession{session: s, held: map[string]*hold{}} },
}

// nameSession implements drivers.Session. All its locks belong to one connection.
type nameSession struct {
	*session
	conn *conn
	held map[string]*hold // by key
	won  string           // won by Wait, for the next Try to confirm
}

// hold is a key that the connection holds, times times.
type hold struct {
	owner string
	times int
}

// Try implements drivers.Session.
func (s *nameSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	if s.won == l.Key && l.Key != "" {
		s.won, l.Owner = "", s.held[l.Key].owner
		return true, nil
	}
	l.Owner = s.owner(l.Key)
	c, err := s.take(ctx)
	if err != nil {
		return false, fail("try", err)
	}
	l.Owner = s.owner(l.Key) // the connection may be a new one
	row, err := c.row(ctx, "SELECT GET_LOCK(?, 0)", lockName(l.Key))
	held, err := s.answered(c, l, row, err)
	return held, fail("try", err)
}

// Release implements drivers.Session.
func (s *nameSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	lost := s.lost
	if err := s.begin(ctx); err != nil {
		return false, fail("release", err)
	}
	h := s.held[l.Key]
	if h == nil || h.owner != l.Owner {
		return false, fail("release", s.gone(ctx, lost, l.Key))
	}
	if !s.conn.alive() { // they were all lost with the connection
		lost = []*conn{s.conn}
		s.drop()
		if err := s.killLost(ctx); err != nil {
			return false, fail("release", err)
		}
		return false, fail("release", s.gone(ctx, lost, l.Key))
	}
	row, err := s.conn.row(ctx, "SELECT RELEASE_LOCK(?)", lockName(l.Key))
	if err != nil {
		if s.conn.broken.Load() {
			s.drop()
		}
		return false, fail("release", err)
	}
	if h.times--; h.times == 0 || number(row[0]) != 1 {
		delete(s.held, l.Key)
	}
	return number(row[0]) == 1, nil
}
