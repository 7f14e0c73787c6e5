// Releasing a lock: delete it, whoever holds it, or compare and delete in one of three variants (-release).
package redis

import (
	"context"
	"fmt"
	"slices"

	"github.com/lockbench/lockbench/drivers"
)

// remove deletes a key, whoever holds it.
func (s *session) remove(ctx context.Context, key string) (Reply, error) {
	if s.wakes {
		return s.run(ctx, deleteScript, s.removal(key))
	}
	return s.do(ctx, s.removal(key))
}

// removal returns the command of remove.
func (s *session) removal(key string) []string {
	if s.wakes {
		return append(s.call(deleteScript, key), releasedSuffix)
	}
	return append(s.args[:0], "DEL", key)
}

// compareAndDelete are the variants of designs that release by tagged.Release.
var compareAndDelete = []drivers.Release{drivers.ReleaseLua, drivers.ReleaseDelIfEq, drivers.ReleaseDelEx}

// Release implements drivers.Session: it deletes the key if it still carries the owner's token, and publishes that.
func (s *tagged) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.svc.cfg.Release != drivers.ReleaseLua || s.blocks {
		return s.releaseOtherwise(ctx, l)
	}
	return opRelease.count(s.run(ctx, releaseScript, s.compare(l)))
}

// compare returns the command of Release. It is not inlined, so that its locals are off the stack while the client
// waits for the server.
//
//go:noinline
func (s *tagged) compare(l *drivers.Lease) []string {
	args := append(s.call(releaseScript, l.Key), l.Owner)
	if s.wakes {
		args = append(args, releasedSuffix)
	}
	return args
}

// releaseOtherwise is Release without the usual script.
//
//go:noinline
func (s *tagged) releaseOtherwise(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.blocks {
		return opRelease.count(s.run(ctx, releaseTokenScript, s.compareLeavingToken(l)))
	}
	owned, err := opRelease.count(s.do(ctx, compareByCommand(s.svc.cfg.Release, s.args, l.Key, l.Owner)))
	if owned && s.wakes {
		// A second request, unlike the script: the command publishes nothing, and publishing before it would wake
		// waiters while the lock is still there. If the client dies in between, they sleep until the end of the lease.
		if _, err := s.conn.Do(ctx, s.publication(l.Key), 1); err != nil {
			return false, opRelease.halfway(err)
		}
	}
	return owned, err
}

// compareByCommand returns the command of Release for servers that have one.
func compareByCommand(r drivers.Release, args []string, key, owner string) []string {
	if r == drivers.ReleaseDelEx {
		return append(args[:0], "DELEX", key, "IFEQ", owner)
	}
	return append(args[:0], "DELIFEQ", key, owner)
}

// publication returns the command that publishes a release.
func (s *session) publication(key string) []string {
	if s.sharded {
		return []string{"SPUBLISH", shardChannel(key + releasedSuffix), ""}
	}
	return []string{"PUBLISH", key + releasedSuffix, ""}
}

// chooseRelease decides how the design releases, and rejects what it or the server cannot do.
func (s *service) chooseRelease(ctx context.Context) error {
	wanted, able := s.cfg.Release, s.design.Releases
	switch {
	case wanted == drivers.ReleaseDefault && len(able) > 0:
		s.cfg.Release = able[0]
		return nil
	case wanted == drivers.ReleaseDefault || wanted == drivers.ReleaseLua && len(able) > 0:
		return nil
	case len(able) == 0:
		return fmt.Errorf("the lock %s has one way to release, which is not compare-and-delete: drop the release %q",
			s.design.Name, wanted)
	case !slices.Contains(able, wanted):
		return fmt.Errorf("the release %q is unknown; there are %v", wanted, able)
	}
	if _, err := s.conn.Do(ctx, compareByCommand(wanted, nil, s.absentKey, noOwner), 1); err != nil {
		return fmt.Errorf("the release %s: %w; Valkey has DELIFEQ from 9.0 on, Redis DELEX from 8.4 on, and lua works "+
			"with every server", wanted, err)
	}
	return nil
}

// noOwner is the owner of no lock.
const noOwner = "nobody"
