package oracle

// Wrong releases: a release that removed the lock of another client.
//
// The server says that a release removed something, and not whose lock it was. Two histories show that it was another
// client's:
//
//   - Another client was granted the key before the release was sent, and had asked for it after the releasing client
//     had its own grant. Then the server granted the key a second time, so the first lock was gone, and what the release
//     removed was the second or a later one. The caller learns this from Superseded before it sends the release, and
//     says so to Removed. That the other client had asked later is what makes it certain: a grant that arrives late,
//     when its own lease is over, is also recorded during the next hold, and the release of that hold removes its own
//     lock.
//   - The lease ran out while the release was under way, the next client was granted the key, and the release removed its
//     lock: the gap between GET and DEL. The grant comes after Exit, so no order of events tells this from a release that
//     was in time. But the next holder has lost its lock before its lease can have ended: it finds nothing to release, or
//     the key was granted again. Such a loss is matched with a release that overlaps it, and counted by Attributed.
//
// The first kind assumes that there is one copy of the lock. With two of them, as after a fail-over, both holders can
// remove their own. A caller whose locks have owners should therefore count it only if the lease was over when the
// release was sent: a lock that compares owners then finds nothing of its own, on any copy. The second kind assumes that
// the server has not lost the lock by itself; the caller knows of restarts.

import (
	"slices"
	"time"
)

// maxEvidence is how much of each kind is kept of a key. What belongs together is a hold apart at most, so little else
// comes in between.
const maxEvidence = 16

// evidence is what is known of a key. A loss may be heard of before the release that caused it.
type evidence struct {
	intrusions []intrusion
	removals   []removal // not matched
	losses     []loss    // not matched
}

// intrusion is a grant of a key that another client held.
type intrusion struct{ asked, granted time.Duration }

// removal is a release that removed a lock when its own lease may have been over. A wrong one is counted already.
type removal struct {
	client                  int
	granted, sent, answered time.Duration
	wrong                   bool
}

// loss is a hold whose lock was gone at a time at which its lease cannot have ended.
type loss struct {
	client      int
	asked, gone time.Duration
}

// explains reports whether r may have removed the lock of l: it was under way while that lock existed, and came from a
// client that had the key before.
func (r removal) explains(l loss) bool {
	return r.client != l.client && r.granted < l.asked && l.asked < r.answered && r.sent < l.gone
}

// Superseded reports whether another client that had asked for the key after granted was granted it while a client held
// it, and when that was known first. A client asks this with the time of its own grant, after Exit and before it sends
// the release.
func (o *Oracle) Superseded(key int, granted time.Duration) (at time.Duration, yes bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, i := range o.evidenceOf(key).intrusions {
		if i.asked > granted {
			return i.granted, true // they are in the order of their grants
		}
	}
	return 0, false
}

// Removed records that a release of client me removed a lock that may not have been its own: because its lease may have
// been over, or, if it is wrong, because the hold was superseded.
func (o *Oracle) Removed(key, me int, granted, sent, answered time.Duration, wrong bool) {
	r := removal{me, granted, sent, answered, wrong}
	o.mu.Lock()
	defer o.mu.Unlock()
	if wrong {
		o.wrongReleases++
	}
	e := o.evidenceOf(key)
	if i := slices.IndexFunc(e.losses, r.explains); i >= 0 {
		e.losses = slices.Delete(e.losses, i, i+1)
		o.attribute(r)
		return
	}
	e.removals = keepLast(append(e.removals, r))
}

// Lost records that the lock of client me, which it had asked for at asked, was gone at a time at which its lease cannot
// have ended.
func (o *Oracle) Lost(key, me int, asked, gone time.Duration) {
	l := loss{me, asked, gone}
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.evidenceOf(key)
	i := slices.IndexFunc(e.removals, func(r removal) bool { return r.wrong && r.explains(l) })
	if i < 0 {
		i = slices.IndexFunc(e.removals, func(r removal) bool { return r.explains(l) })
	}
	if i >= 0 {
		o.attribute(e.removals[i])
		e.removals = slices.Delete(e.removals, i, i+1)
		return
	}
	e.losses = keepLast(append(e.losses, l))
}

// attribute counts a removal that explains a loss, unless it was counted before.
func (o *Oracle) attribute(r removal) {
	if !r.wrong {
		o.attributed++
	}
}

func (o *Oracle) evidenceOf(key int) *evidence {
	e := o.evidence[key]
	if e == nil {
		e = &evidence{}
		o.evidence[key] = e
	}
	return e
}

func keepLast[T any](all []T) []T { return slices.Delete(all, 0, max(0, len(all)-maxEvidence)) }

// Attributed returns how many locks were lost while another client's release, which is not known to be wrong otherwise,
// removed one.
func (o *Oracle) Attributed() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.attributed
}
