// Package sharing counts the trials that share their keys, so that the last of them deletes the keys and no other does.
//
// It is made of locks alone, of any service whose locks exclude. A trial has a place as long as it uses the keys: one of a
// few locks. Who comes or leaves takes another lock first, the door, and tries all places: those that it is refused are
// others'. So whoever deletes the keys knows that nobody is there, and that nobody comes meanwhile.
package sharing

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/renew"
)

const (
	// Names begin the names of the locks after the prefix of the keys.
	Names = "users:"
	// Most is how many trials may share keys.
	Most = 16
	// Sessions is how many sessions a Place takes of its service.
	Sessions = 3

	patience  = 30 * time.Second // with the door
	doorPause = 20 * time.Millisecond
)

// Place is that of a trial. One goroutine uses it at a time.
type Place struct {
	Before int // others that were there when it came
	After  int // and when it left

	svc              drivers.Service
	prefix           string
	door, own, probe seat
	watchdog         *renew.Scheduler // nil if the place lasts as long as its session
	hold             *renew.Hold
	left             error // what has become of the place
}

// seat is a session with the one lock that it holds.
type seat struct {
	session drivers.Session
	lease   drivers.Lease
}

// Enter takes a place among the trials whose keys begin with prefix. svc stays open until Leave has returned. A place, like the
// door, lasts for ttl after its trial has died, or as long as its session, and the door is held while keys are deleted.
func Enter(ctx context.Context, svc drivers.Service, prefix string, ttl time.Duration) (*Place, error) {
	p := &Place{svc: svc, prefix: prefix}
	for i, s := range []*seat{&p.door, &p.own, &p.probe} {
		session, err := svc.Session(ctx, i)
		if err != nil {
			return nil, err
		}
		*s = seat{session, drivers.Lease{TTL: ttl}}
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	clock := drivers.NewClock()
	var asked time.Duration
	err := p.alone(limited, func() error {
		for i := range Most {
			if p.own.lease.Key != "" { // it has a place
				break
			}
			asked = clock.Now()
			held, err := p.own.try(limited, p.name(i))
			if err != nil {
				return err
			}
			if !held {
				p.own.lease.Key = ""
			}
		}
		if p.own.lease.Key == "" {
			return fmt.Errorf("%d runs share the names that begin with %s, and no more can: end one, or give another -prefix", Most, prefix)
		}
		var err error
		p.Before, err = p.others(limited)
		return err
	})
	if err != nil {
		if p.own.lease.Key != "" {
			_, _ = p.own.session.Release(context.WithoutCancel(ctx), &p.own.lease)
		}
		return nil, err
	}
	if r, ok := drivers.As[drivers.Renewer](p.own.session); ok && !svc.Traits().Session {
		p.watchdog, p.hold = renew.New(renew.Options{Clock: clock, Workers: 1}), renew.NewHold(r)
		p.watchdog.Start(p.hold, &p.own.lease, asked)
	}
	return p, nil
}

// Leave gives the place up. If no other trial is there, it calls clean first, which deletes the keys. The error says why they may
// still be there, or why they may have been deleted too early.
func (p *Place) Leave(clean func() error) error {
	if p.watchdog != nil {
		if lost, _ := p.watchdog.Stop(p.hold); lost {
			p.watchdog.Await(p.hold)
		}
		p.watchdog.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := drivers.RetryCleanup(ctx, func() error {
		return p.alone(ctx, func() error {
			if p.own.lease.Key != "" {
				owned, err := p.own.session.Release(ctx, &p.own.lease)
				if err != nil {
					return err
				}
				if p.own.lease.Key = ""; !owned {
					p.left = errors.New("the run had lost its place among those that share its names: another one may have deleted what it held")
				}
			}
			var err error
			if p.After, err = p.others(ctx); err != nil || p.After > 0 {
				return err
			}
			return errors.Join(clean(), p.clean(context.WithoutCancel(ctx)))
		})
	})
	return errors.Join(err, p.left)
}

// clean deletes what the places have left. The door stays, which others may be at.
func (p *Place) clean(ctx context.Context) error {
	c, ok := drivers.As[drivers.Cleaner](p.svc)
	if !ok {
		return nil
	}
	names := make([]string, Most)
	for i := range names {
		names[i] = p.name(i)
	}
	return c.Clean(ctx, names)
}

func (p *Place) name(i int) string { return p.prefix + Names + strconv.Itoa(i) }

// alone calls f while no other trial comes or leaves.
func (p *Place) alone(ctx context.Context, f func() error) error {
	for {
		held, err := p.door.try(ctx, p.prefix+Names+"door")
		if err != nil {
			return err
		}
		if held {
			break
		}
		select {
		case <-time.After(doorPause/2 + rand.N(doorPause)):
		case <-ctx.Done():
			return fmt.Errorf("another run that shares the names that begin with %s is deleting them, or was killed as it came or left: "+
				"wait a minute or two: %w", p.prefix, ctx.Err())
		}
	}
	err := f()
	_, released := p.door.session.Release(context.WithoutCancel(ctx), &p.door.lease)
	return errors.Join(err, released)
}

// others returns how many places other trials have.
func (p *Place) others(ctx context.Context) (n int, err error) {
	for i := range Most {
		if p.name(i) == p.own.lease.Key {
			continue
		}
		free, err := p.probe.try(ctx, p.name(i))
		if err != nil {
			return 0, err
		}
		if !free {
			n++
		} else if _, err := p.probe.session.Release(ctx, &p.probe.lease); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// try makes one attempt at a lock. After an answer that was not heard it gives up what it may have got.
func (s *seat) try(ctx context.Context, name string) (held bool, err error) {
	s.lease.Key = name
	if held, err = s.session.Try(ctx, &s.lease); err != nil && !drivers.NoEffect(err) {
		_, _ = s.session.Release(context.WithoutCancel(ctx), &s.lease)
	}
	return held && err == nil, err
}
