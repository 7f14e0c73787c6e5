// The inbox of a process: the channel that tells which of its waiters has become the owner of a lock.
package redis

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/lockbench/lockbench/drivers"
)

type inbox struct {
	channel string

	mu      sync.Mutex
	waiting map[string]*fairSession // by the owner token of their places
}

// openInbox subscribes to the inbox of a service. The service closes it.
func openInbox(ctx context.Context, s *service) error {
	var unique drivers.Owners
	s.inbox = &inbox{channel: s.cfg.Prefix + "inbox:" + unique.Next(), waiting: map[string]*fairSession{}}
	itself := func(channel string) string { return channel }
	l, err := s.listen(ctx, itself, s.inbox.deliver, s.inbox.lost)
	if err != nil {
		return err
	}
	return l.Add(ctx, s.inbox.channel)
}

// deliver parses a message: the token of the new owner, and the server's time in milliseconds.
func (in *inbox) deliver(_, message string) {
	owner, at, _ := strings.Cut(message, " ")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return // not from this design
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if s := in.waiting[owner]; s != nil {
		s.heard = ms
		s.notify()
	}
}

// lost makes all waiters check, because messages may be lost.
func (in *inbox) lost() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, s := range in.waiting {
		s.notify()
	}
}

func (s *fairSession) notify() {
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

func (in *inbox) enter(s *fairSession) {
	in.mu.Lock()
	s.heard = 0
	in.waiting[s.place.owner] = s
	in.mu.Unlock()
}

func (in *inbox) leave(s *fairSession) {
	in.mu.Lock()
	delete(in.waiting, s.place.owner)
	in.mu.Unlock()
}

// heardBy returns when the place of s became the lock, or 0 if that is not known.
func (in *inbox) heardBy(s *fairSession) int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return s.heard
}
