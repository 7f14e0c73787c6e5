package drivertest

// What a driver's own tests need besides the suite: services and sessions that end with the test.

import (
	"cmp"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// Open opens a service, which the end of the test closes. An error fails the test, except a time-out, because
// Config.IOTimeout may be short for a later fault. By default it is long.
func Open(t testing.TB, d drivers.Driver, cfg drivers.Config) drivers.Service {
	t.Helper()
	cfg.IOTimeout = cmp.Or(cfg.IOTimeout, ioTime)
	var svc drivers.Service
	testwait.Until(t, "the service opens within its time-out", func() bool {
		var err error
		if svc, err = d.Open(t.Context(), cfg); err != nil && !drivers.TimedOut(err) {
			t.Fatal(err)
		}
		return err == nil
	})
	t.Cleanup(func() {
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
	})
	return svc
}

// Warm acquires and releases a key, however often a short Config.IOTimeout interferes, so that later requests do not
// pay the costs of a first use.
func Warm(t testing.TB, s drivers.Session, key string) {
	t.Helper()
	testwait.Until(t, "a key is acquired and released", func() bool {
		l := lease(key, long)
		held, err := s.Try(t.Context(), l)
		owned := false
		testwait.Until(t, "the release is answered", func() bool { // otherwise the key may stay taken
			var err error
			owned, err = s.Release(t.Context(), l)
			return err == nil
		})
		return held && owned && err == nil
	})
}

// SessionOf returns session number id of a service, which is an S.
func SessionOf[S drivers.Session](t testing.TB, svc drivers.Service, id int) S {
	t.Helper()
	s, err := svc.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s.(S)
}
