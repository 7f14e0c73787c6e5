package memory_test

import (
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func setup(lock string) drivertest.Setup {
	d := fault.NewDriver(memory.Driver{})
	return drivertest.Setup{Driver: d, Config: drivers.Config{Lock: lock}, Cut: d.Outage, Mute: d.Mute}
}

var designs = []string{"mutex", "reentrant"}

func TestConformance(t *testing.T) {
	for _, lock := range designs {
		t.Run(lock, func(t *testing.T) { drivertest.Run(t, setup(lock)) })
	}
}

// TestConformanceFakeTime runs the suite where time passes only while all goroutines sleep, so that expiry is exact.
func TestConformanceFakeTime(t *testing.T) {
	for _, lock := range designs {
		synctest.Test(t, func(t *testing.T) {
			for _, f := range drivertest.Check(setup(lock)) {
				t.Error(lock, f)
			}
		})
	}
}

func TestNullConformance(t *testing.T) {
	drivertest.Run(t, drivertest.Setup{Driver: memory.Null{}, Config: drivers.Config{Lock: "none"}})
}
