package drivertest

// What a driver's own tests need besides the suite: services and sessions that end with the test.

import (
	"testing"

	"github.com/lockbench/lockbench/drivers"
)

// Open opens a service, which the end of the test closes. What fails, fails the test.
func Open(t testing.TB, d drivers.Driver, cfg drivers.Config) drivers.Service {
	t.Helper()
	svc, err := d.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
	})
	return svc
}

// SessionOf makes session number id of a service, which is an S.
func SessionOf[S drivers.Session](t testing.TB, svc drivers.Service, id int) S {
	t.Helper()
	s, err := svc.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s.(S)
}
