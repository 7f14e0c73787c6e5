package postgres

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// TestEnded: the server ends the connection of a holder by a limit of its own. It tells the limit beforehand, and the session
// keeps what it said.
func TestEnded(t *testing.T) {
	if testing.Short() {
		t.Skip("connections have to be used within a second: make test-all")
	}
	for lock, setting := range map[string]string{
		"advisory": "idle_session_timeout", "row-lock": "idle_in_transaction_session_timeout",
	} {
		t.Run(lock, func(t *testing.T) {
			svc := open(t, drivers.Config{Lock: lock, Addrs: []string{withOptions(t, server(t), "-c "+setting+"=1000")}})
			about, _, err := svc.Inspect(t.Context())
			if want := (drivers.Limit{Name: setting, Of: time.Second}); err != nil || len(about.Limits) != 1 || about.Limits[0] != want {
				t.Errorf("the limits are %v, %v; want %v", about.Limits, err, want)
			}
			unlimited := open(t, drivers.Config{Lock: lock, Addrs: []string{server(t)}})
			if about, _, err := unlimited.Inspect(t.Context()); err != nil || len(about.Limits) != 0 {
				t.Errorf("without such settings the limits are %v, %v", about.Limits, err)
			}
			other := newSession(t, svc)
			s, l := newSession(t, svc), &drivers.Lease{Key: "k"}
			mustTry(t, s, l, true)
			if err := other.Wait(t.Context(), &drivers.Lease{Key: "k"}); err != nil { // until the server has ended it
				t.Fatal(err)
			}
			mustRelease(t, s, l, false)
			if err := s.(drivers.Ender).Ended(); drivers.ClassOf(err) != drivers.ClassEnded || !strings.Contains(err.Error(), setting+" (1s)") {
				t.Errorf("it ended because of %v, want %s", err, setting)
			}
		})
	}
}

// withOptions adds command-line options of the server's to an address.
func withOptions(t *testing.T, address, options string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("options", options)
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	return u.String()
}
