package zookeeper

import (
	"testing"

	"github.com/lockbench/lockbench/drivers"
)

// TestSilence: with a server that does not greet, the attempt times out, and nothing was sent to it.
func TestSilence(t *testing.T) {
	err := opClean.fail(&unconnected{errSilence})
	if !drivers.TimedOut(err) || drivers.ClassOf(err) != drivers.ClassConnect {
		t.Errorf("timed out %t, class %s: %v", drivers.TimedOut(err), drivers.ClassOf(err), err)
	}
	if err := opClean.fail(&unconnected{errHandshake}); drivers.TimedOut(err) {
		t.Errorf("a connection that was closed has timed out: %v", err)
	}
}
