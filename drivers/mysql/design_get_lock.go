// get-lock is GET_LOCK and RELEASE_LOCK, the server's locks by name, used by Rails and many migration tools. They
// belong to a connection and exist in memory only; transactions and replication ignore them.
package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"time"

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
			drivers.HazardConnectionCut, drivers.HazardHalfOpen, drivers.HazardMissedWakeup, drivers.HazardPooler,
			drivers.HazardRestartEmpty, drivers.HazardFailover,
		},
	},
	ends: []string{"wait_timeout"},
	session: func(s session) drivers.Session {
		names := &nameLocker{session: s, held: map[string]*hold{}}
		return &pinned{session: &names.session, locker: names}
	},
}

// nameLocker is a locker all of whose locks belong to one connection.
type nameLocker struct {
	session
	conn *conn
	held map[string]*hold // by key
}

// hold is a key that the connection holds, times times.
type hold struct {
	owner string
	times int
}

// connect makes sure of the connection, a new one if the old one is lost.
func (s *nameLocker) connect(ctx context.Context) (err error) {
	if s.conn != nil && !s.conn.alive() {
		s.lose()
	}
	if s.conn == nil {
		s.conn, err = s.svc.dial(ctx)
	}
	return err
}

// lose gives up the connection if it is broken, and everything that it held.
func (s *nameLocker) lose() {
	if s.conn.broken != nil {
		s.ended = s.conn.broken
		s.end((*conn).close)
	}
}

func (s *nameLocker) end(f func(*conn)) {
	if s.conn != nil {
		f(s.conn)
	}
	s.conn = nil
	clear(s.held)
}

// waitForLock has unlimited as its time-out. A single statement waits for the whole time: a client that asked repeatedly
// would lose its place in line each time.
var waitForLock = fmt.Sprintf("SELECT GET_LOCK(?, %d)", unlimited/time.Second)

// lock asks GET_LOCK: 1 is held, 0 is refused, NULL is an unspecified error.
func (s *nameLocker) lock(ctx context.Context, l *drivers.Lease, wait bool) (bool, error) {
	if err := s.connect(ctx); err != nil {
		return false, err
	}
	h := s.held[l.Key]
	if h == nil {
		h = &hold{owner: s.owners.Next()}
	}
	l.Owner = h.owner
	var answer sql.NullInt64
	var err error
	if wait {
		answer, err = s.conn.wait(ctx, l, waitForLock, lockName(l.Key))
	} else {
		answer, err = s.conn.number(ctx, "SELECT GET_LOCK(?, 0)", lockName(l.Key))
	}
	switch {
	case err == nil && answer.Int64 == 1:
		h.times++
		s.held[l.Key] = h
		return true, nil
	case err == nil && answer.Valid:
		return false, nil
	case err == nil:
		err = errNull
		for _, setting := range []string{"max_statement_time", "max_execution_time"} {
			if limit := s.svc.limit(setting); limit > 0 && time.Since(s.conn.used) >= limit {
				err = s.svc.ended(setting, errNull)
			}
		}
	}
	if s.conn.broken == nil && h.times == 0 { // it may have been granted at the moment at which it was interrupted
		if undo := s.conn.exec(unwatched, "DO RELEASE_LOCK(?)", lockName(l.Key)); undo != nil {
			s.conn.broken = undo
		}
	}
	s.lose()
	return false, err
}

// Release implements drivers.Session. What a lost connection has held is free, or will be when the server notices.
func (s *nameLocker) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if err := s.begin(ctx); err != nil {
		return false, fail("release", err)
	}
	h := s.held[l.Key]
	if h == nil || h.owner != l.Owner {
		return false, nil
	}
	if !s.conn.alive() {
		s.lose()
		return false, nil
	}
	answer, err := s.conn.number(ctx, "SELECT RELEASE_LOCK(?)", lockName(l.Key))
	if err != nil {
		s.lose()
		return false, fail("release", err)
	}
	if h.times--; h.times == 0 || answer.Int64 != 1 {
		delete(s.held, l.Key)
	}
	return answer.Int64 == 1, nil
}
