package postgres

import (
	"net/url"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers"
)

// TestEnded: the server ends the connection of a holder by a limit of its own. The session keeps what it said.
func TestEnded(t *testing.T) {
	if testing.Short() {
		t.Skip("connections have to be used within a second: make test-all")
	}
	for lock, setting := range map[string]string{
		"advisory": "idle_session_timeout", "row-lock": "idle_in_transaction_session_timeout",
	} {
		t.Run(lock, func(t *testing.T) {
			svc := open(t, drivers.Config{Lock: lock, Addrs: []string{withOptions(t, server(t), "-c "+setting+"=1000")}})
			other := newSession(t, svc)
			s, l := newSession(t, svc), &drivers.Lease{Key: "k"}
			mustTry(t, s, l, true)
			if err := other.Wait(t.Context(), &drivers.Lease{Key: "k"}); err != nil { // until the server has ended it
				t.Fatal(err)
			}
			mustRelease(t, s, l, false)
			if err := s.Ended(); drivers.ClassOf(err) != drivers.ClassEnded || !strings.Contains(err.Error(), setting+" (1s)") ||
				!strings.HasSuffix(err.Error(), "raise "+setting+" for this user") {
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
