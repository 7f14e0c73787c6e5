package main

import (
	"testing"

	"github.com/lockbench/lockbench/drivers/drivertest"
)

// The suite tests that the driver does what it claims, and nothing less.
func TestConformance(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // where the locks are
	drivertest.Run(t, drivertest.Setup{Driver: driver{}})
}
