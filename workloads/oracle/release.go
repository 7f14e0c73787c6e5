package oracle

// Wrong releases: a release that removed the lock of another client.
//
// The server says that a release removed something, and not whose lock it was. Two histories show that it was another
// client's:
//
//   - Another client was granted the key before the release was sent, and had asked for it after the releasing client
//     had its own grant. Then the server granted the key a second time, so the first lock was gone, and what the release
//     removed was the second or a later one. The caller learns this from Superseded before it sends the release, and
//     counts it by WrongRelease. That the other client had asked later is what makes it certain: a grant that arrives
//     late, when its own lease is over, is also recorded during the next hold, and the release of that hold removes its
//     own lock.
//   - The lease ran out while the release was under way, the next client was granted the key, and the release removed its
//     lock: the gap between GET and DEL. The grant comes after Exit, so no order of events tells this from a release that
//     was in time. But the next holder finds its lock gone before its lease can have ended. Such a loss is matched with a
//     release that overlaps it, and counted by Attributed.
//
// The first kind assumes that there is one copy of the lock. With two of them, as after a fail-over, both holders can
// remove their own. A caller whose locks have owners should therefore count it only if the lease was over when the
// release was sent: a lock that compares owners then finds nothing of its own, on any copy. The second kind assumes that
// the server has not lost the lock by itself; the caller knows of restarts.

import (
	"slices"
	"time"
)

// maxUnmatched is how many removals, and how many losses, of a key wait for a match. Those that belong together are a
// round trip apart, so few others come in between.
const maxUnmatched = 16

// unmatched is what a key has of evidence that needs its counterpart. A loss may be heard of before the release that
// caused it.
type unmatched struct {
	removals []removal
	losses   []loss
}

// removal is a release that removed a lock when its own lease may have been over.
type removal struct {
	client                  int
	granted, sent, answered time.Duration
}

// loss is a hold whose lock was gone at its end, before its lease can have ended.
type loss struct {
	client       int
	asked, found time.Duration
}

// explains reports whether r may have removed the lock of l: it was under way while that lock existed, and came from a
// client that had the key before.
func (r removal) explains(l loss) bool {
	return r.client != l.client && r.granted < l.asked && l.asked < r.answered && r.sent < l.found
}

// Superseded reports whether a client that asked for the key after that time was granted it while another client held
// it. A client asks this with the time of its own grant, after Exit and before it sends the release.
func (o *Oracle) Superseded(key int, granted time.Duration) bool {
	return o.cells[key].intruded.Load() > int64(granted)
}

// WrongRelease records that a release removed a lock that was not its own: the hold was superseded before it was sent.
func (o *Oracle) WrongRelease() {
	o.mu.Lock()
	o.wrongReleases++
	o.mu.Unlock()
}

// Removed records that a release of client me removed a lock when its lease may have been over.
func (o *Oracle) Removed(key, me int, granted, sent, answered time.Duration) {
	r := removal{me, granted, sent, answered}
	o.mu.Lock()
	defer o.mu.Unlock()
	u := o.evidence(key)
	if i := slices.IndexFunc(u.losses, r.explains); i >= 0 {
		u.losses = slices.Delete(u.losses, i, i+1)
		o.attributed++
		return
	}
	u.removals = keepLast(append(u.removals, r))
}

// Lost records that client me found at that time that its lock was gone, though its lease cannot have ended. It asked
// for the lock at asked.
func (o *Oracle) Lost(key, me int, asked, found time.Duration) {
	l := loss{me, asked, found}
	o.mu.Lock()
	defer o.mu.Unlock()
	u := o.evidence(key)
	if i := slices.IndexFunc(u.removals, func(r removal) bool { return r.explains(l) }); i >= 0 {
		u.removals = slices.Delete(u.removals, i, i+1)
		o.attributed++
		return
	}
	u.losses = keepLast(append(u.losses, l))
}

func (o *Oracle) evidence(key int) *unmatched {
	u := o.unmatched[key]
	if u == nil {
		u = &unmatched{}
		o.unmatched[key] = u
	}
	return u
}

func keepLast[T any](all []T) []T {
	if len(all) > maxUnmatched {
		return slices.Delete(all, 0, len(all)-maxUnmatched)
	}
	return all
}

// Attributed returns how many locks were lost while another client's release removed one.
func (o *Oracle) Attributed() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.attributed
}
