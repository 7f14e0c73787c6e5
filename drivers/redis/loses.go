// What several designs lose to; see drivers.Hazard.
package redis

import (
	"slices"

	"github.com/lockbench/lockbench/drivers"
)

var (
	// onePrimary is for every lock that one primary keeps.
	onePrimary = []drivers.Hazard{drivers.HazardFailover, drivers.HazardRestartEmpty, drivers.HazardEviction}

	// replicable is for those that replicas can acknowledge as well (drivers.TopologyReplicated).
	replicable = slices.Concat(onePrimary, []drivers.Hazard{drivers.HazardWaitOne, drivers.HazardWaitForever})

	// leased is for locks that end with a lease, by whatever clock. No design compares the lease with the time that an
	// answer took.
	leased = []drivers.Hazard{drivers.HazardOverrun, drivers.HazardHolderPauses, drivers.HazardLateGrant}

	// expiring is for those that end by the server's clock.
	expiring = slices.Concat(leased, []drivers.Hazard{drivers.HazardServerClock})

	// ownerless is for locks that any client can delete.
	ownerless = []drivers.Hazard{drivers.HazardUnlockAfterRefusal, drivers.HazardClientRetries}

	// renewable is for set-nx and what is built like it: an owner, an expiry, and renewals.
	renewable = slices.Concat(replicable, expiring, []drivers.Hazard{drivers.HazardOrphanWatchdog})
)
