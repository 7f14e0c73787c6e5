// The design lease: etcd's own lock recipe. Its keys are LOCK/LEASE, one for each client that holds or waits. The one
// with the lowest create revision holds, and that revision is its fencing token. The value is the owner, LEASE:NUMBER.
// A key per acquisition would be simpler, but deleted keys stay in etcd's index until a compaction, and every look at a
// line would go through all of them.
package etcd

import (
	"context"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockbench/lockbench/drivers"
)

var design = drivers.Design{
	Name: "lease",
	Traits: drivers.Traits{
		Exclusive: true, Owned: true, Fenced: true, Fair: true, Session: true, Waits: true,
	},
	Models: "go.etcd.io/etcd/client/v3/concurrency: a key bound to the session's lease, the oldest one holds, each " +
		"waits for the one before",
	Wrong: "a holder paused beyond its lease goes on unaware, unless the fence is checked; " +
		"a dead holder's lock stays for its lease, of two seconds or more; each lock leaves some 240 bytes of history until a " +
		"compaction, and at its quota (2 GiB by default) etcd refuses everybody's writes",
	Loses: []drivers.Hazard{drivers.HazardHolderPauses, drivers.HazardSessionLost},
}

// escapes keep a lock's name from being a prefix of another's keys.
var escapes = strings.NewReplacer("%", "%25", "/", "%2F")

// line returns the common prefix of all keys of a lock.
func line(lock string) string {
	if strings.ContainsAny(lock, "%/") {
		lock = escapes.Replace(lock)
	}
	return lock + "/"
}

func keyOf(lock, owner string) string {
	name, _, _ := strings.Cut(owner, ":")
	return line(lock) + name
}

// place is a place in the line for a lock: that of the holder, or of a client that waits.
type place struct {
	lock  string
	owner string
	grant *grant // that its key is bound to; nil: there is certainly no key
	rev   int64  // at which the key was made; 0: it is unknown whether it was

	ahead string // the key before it; "": none, the client holds the lock
	seen  int64  // a revision at which that was so
}

// Try implements drivers.Session. It makes the key only if no client has one, so that a refusal leaves no trace and
// needs no second request; waiters make theirs in Wait.
func (s *session) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	if p := s.place; p != nil && p.lock == l.Key {
		l.Owner = p.owner
		switch err := s.confirm(ctx); {
		case err != nil, s.place != nil && p.ahead != "":
			return false, fail("try", err)
		case s.place != nil:
			s.place = nil // from here on it is a hold
			l.Fence = uint64(p.rev)
			return true, nil
		} // the place is lost: like a new client
	}
	p, err := s.join(ctx, l.Key, "", false)
	l.Owner, l.Fence = p.owner, uint64(p.rev)
	return p.rev > 0, fail("try", err)
}

// join makes the client's key in a line: behind the others if it waits, otherwise only if there are none.
func (s *session) join(ctx context.Context, lock, suffix string, waits bool) (*place, error) {
	g, err := s.lease(ctx)
	if err != nil {
		return &place{}, err
	}
	s.seq++
	p := &place{lock: lock, owner: g.name + suffix + ":" + strconv.FormatInt(s.seq, 36), grant: g}
	g.owners = append(g.owners, p.owner)
	key := keyOf(lock, p.owner)
	free := clientv3.Compare(clientv3.CreateRevision(line(lock)), "=", 0).WithPrefix() // true of all that exist
	then := []clientv3.Op{clientv3.OpPut(key, p.owner, clientv3.WithLease(g.id))}
	if waits {
		free = clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
		last := append(clientv3.WithLastCreate(), clientv3.WithKeysOnly())
		then = []clientv3.Op{clientv3.OpGet(line(lock), last...), then[0]}
	}
	answer, err := s.do(ctx, clientv3.OpTxn([]clientv3.Cmp{free}, then, nil))
	if err == nil && answer.Txn().Succeeded {
		if p.rev = answer.Txn().Header.Revision; waits {
			p.stand(p.rev, answer.Txn().Responses[0].GetResponseRange().Kvs)
		}
		return p, nil
	}
	s.drop(p.owner)
	switch {
	case gone(err): // the lease has ended unnoticed, and nothing was done
		s.retire(g)
		return s.join(ctx, lock, suffix, waits)
	case err != nil && !drivers.NoEffect(fail("request", err)):
		s.retire(g)
		return p, err
	case err == nil && waits: // the session holds the lock itself
		return s.join(ctx, lock, "-"+strconv.FormatInt(s.seq, 36), waits)
	}
	p.grant = nil
	return p, err
}

// Release implements drivers.Session by deleting the key, if it is still that of the acquisition.
func (s *session) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if l.Owner == "" { // it was never tried
		return false, fail("release", s.usable(ctx))
	}
	owned, err := s.remove(ctx, l.Key, l.Owner)
	return owned, fail("release", err)
}

// remove deletes an owner's key. If that may have failed, or a request may still make the key, the lease has to end, too.
func (s *session) remove(ctx context.Context, lock, owner string) (bool, error) {
	if err := s.usable(ctx); err != nil {
		return false, err
	}
	key := keyOf(lock, owner)
	own := []clientv3.Cmp{clientv3.Compare(clientv3.Value(key), "=", owner)}
	answer, err := s.do(ctx, clientv3.OpTxn(own, []clientv3.Op{clientv3.OpDelete(key)}, nil))
	g := s.drop(owner)
	if err != nil {
		s.retire(g) // the key must not stay as long as the session
		return false, err
	}
	owned := answer.Txn().Succeeded
	if g != nil && !owned {
		s.explain(ctx, g)
	}
	if g == nil || g != s.live { // the lease of this key may have been retired
		err = s.revokeRetired(ctx)
	}
	return owned && err == nil, err
}
