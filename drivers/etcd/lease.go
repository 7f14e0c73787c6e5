// The design lease: etcd's own lock recipe. Its keys are LOCK/LEASE, one for each client that holds or waits. The one
// with the lowest create revision holds, and that revision is its fencing token. The value is the owner, LEASE:NUMBER.
// A key per acquisition would be simpler, but deleted keys stay in etcd's index until a compaction, and every look at a
// line would go through all of them.
package etcd

import (
	"context"
	"errors"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockbench/lockbench/drivers"
)

// escapes keep a lock's name from being a prefix of another's keys.
var escapes = strings.NewReplacer("%", "%25", "/", "%2F")

// line returns the common prefix of all keys of a lock.
func line(key string) string {
	if strings.ContainsAny(key, "%/") {
		key = escapes.Replace(key)
	}
	return key + "/"
}

func keyOf(lock, owner string) string {
	name, _, _ := strings.Cut(owner, ":")
	return line(lock) + name
}

// hold is the state of a lease that was granted, or may have been.
type hold struct {
	session *session
	owner   string
	grant   *grant
	counted bool // among the grant's holds
}

// Try implements drivers.Session. It makes the key only if no client has one, so that a refusal leaves no trace and
// needs no second request; waiters make theirs in Wait.
func (s *session) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	l.Aux = nil
	if held, answered, err := s.confirm(ctx, l); answered || err != nil {
		return held, err
	}
	l.Owner = s.owner("none")
	if err := s.usable(ctx); err != nil {
		return false, fail("try", err)
	}
	for again := true; ; again = false {
		g, err := s.lease(ctx)
		if err != nil {
			return false, fail("try", err)
		}
		l.Owner = s.owner(g.name)
		held, err := s.try(ctx, l, g)
		if again && errors.Is(err, rpctypes.ErrLeaseNotFound) { // it has ended unnoticed, and nothing was done
			s.retire(g)
			continue
		}
		return held, fail("try", err)
	}
}

func (s *session) try(ctx context.Context, l *drivers.Lease, g *grant) (bool, error) {
	keys := line(l.Key)
	limited, cancel := s.request(ctx)
	defer cancel()
	answer, err := s.conn.Txn(limited).
		If(clientv3.Compare(clientv3.CreateRevision(keys), "=", 0).WithPrefix()). // true of all that exist: so there are none
		Then(clientv3.OpPut(keys+g.name, l.Owner, clientv3.WithLease(g.id))).
		Commit()
	if err != nil {
		if !drivers.NoEffect(fail("try", err)) {
			l.Aux = &hold{session: s, owner: l.Owner, grant: g}
			s.retire(g)
		}
		return false, err
	}
	if !answer.Succeeded {
		return false, nil
	}
	g.holds++
	l.Fence, l.Aux = uint64(answer.Header.Revision), &hold{s, l.Owner, g, true}
	return true, nil
}

// Release implements drivers.Session by deleting the key, if it is still that of the acquisition.
func (s *session) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if err := s.usable(ctx); err != nil {
		return false, fail("release", err)
	}
	if l.Owner == "" { // it was never tried
		return false, nil
	}
	h, _ := l.Aux.(*hold)
	if h != nil && (h.session != s || h.owner != l.Owner) {
		h = nil
	}
	owned, err := s.remove(ctx, l.Key, l.Owner, h)
	return owned, fail("release", err)
}

// remove deletes an owner's key and updates its lease.
func (s *session) remove(ctx context.Context, lock, owner string, h *hold) (bool, error) {
	key := keyOf(lock, owner)
	limited, cancel := s.request(ctx)
	defer cancel()
	answer, err := s.conn.Txn(limited).If(clientv3.Compare(clientv3.Value(key), "=", owner)).
		Then(clientv3.OpDelete(key)).
		Commit()
	if h != nil && h.counted {
		h.counted = false
		h.grant.holds--
	}
	if err != nil {
		if h != nil {
			s.retire(h.grant) // the key must not stay as long as the session
		}
		return false, err
	}
	if h != nil && !answer.Succeeded {
		s.gone(ctx, h.grant)
	}
	if h != nil && h.grant.retired {
		if err := s.revokeRetired(ctx); err != nil {
			return false, err
		}
	}
	return answer.Succeeded, nil
}
