package exec

// Adapters that misbehave.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/testwait"
)

func TestHostile(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		how, want string
		class     drivers.Class
		closes    string // the error of Close, if there is one
	}{
		{"dies at start", "it has ended: exit status 3", drivers.ClassClosed, ""},
		{"mistypes a hazard", `loses: unknown hazard "overran" (lockbench prove -dry-run)`, drivers.ClassOther, ""},
		{"mistypes a trait", "traits: owner: is unknown; there are exclusive, owned, expires, ", drivers.ClassProtocol, ""},
		{"mistypes a class", `class: "retry" is unknown; there are [timeout canceled connect `, drivers.ClassProtocol, ""},
		{"dies", "it has ended: exit status 3; it says: a library is missing", drivers.ClassClosed, ""},
		{"never answers", "try: no answer: context deadline exceeded", drivers.ClassTimeout, ""},
		{"answers twice", "id: 4 is not that of an open request", drivers.ClassProtocol, ""},
		{"answers another", "id: 99 is not that of an open request", drivers.ClassProtocol, ""},
		{"answers late", "try: no answer", drivers.ClassTimeout, ""},
		{"prints", `the line is no JSON: invalid character 'a' looking for beginning of value, in the line ` + "`acquiring…`", drivers.ClassProtocol, ""},
		{"endless line", "a line is longer than 1048576 bytes", drivers.ClassProtocol, ""},
		{"floods", "it has ended: exit status 4; it says: ", drivers.ClassClosed, ""},
		{"forks", "it has ended: exit status 6; it says: child ", drivers.ClassClosed, ""},
		{"stops reading", "try: no answer", drivers.ClassTimeout, "does not end"},
		{"ignores close", "close: no answer", drivers.ClassTimeout, ""},
	} {
		t.Run(tt.how, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			command := fmt.Sprintf("exec %s hostile %s", strconv.Quote(self), strconv.Quote(tt.how))
			err := func() error {
				d, err := drivers.Start("exec:" + command)
				if err != nil {
					return err
				}
				svc, err := d.Open(ctx, drivers.Config{IOTimeout: time.Second})
				if err != nil {
					return err
				}
				defer func() {
					if tt.class == drivers.ClassProtocol && !svc.(*service).process(0).process.Gone() {
						t.Error("it can still complain that nobody reads its answers")
					}
					err := svc.Close()
					if tt.closes == "" && err != nil && !errors.Is(err, errEnded) || tt.closes != "" && (err == nil || !strings.Contains(err.Error(), tt.closes) && drivers.ClassOf(err) != drivers.ClassTimeout) {
						t.Errorf("Close: %v, want %q", err, tt.closes)
					}
					for _, p := range svc.(*service).places {
						if !p.process.process.Gone() {
							t.Error("its process is left")
						}
					}
				}()
				s, err := svc.Session(ctx, 0)
				if err != nil {
					return err
				}
				for range 2 { // the second hears what came after an answer
					if _, err = s.Try(ctx, &drivers.Lease{Key: "k", TTL: time.Minute}); err != nil {
						return err
					}
				}
				return nil
			}()
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "hostile") || drivers.ClassOf(err) != tt.class || len(err.Error()) > 4<<10 {
				t.Fatalf("%v (%s)\nwant %s (%s)", err, drivers.ClassOf(err), tt.want, tt.class)
			}
			if _, child, ok := strings.Cut(err.Error(), "it says: child "); ok {
				pid, _ := strconv.Atoi(strings.TrimSpace(child))
				testwait.Until(t, "its child is gone", func() bool { return ended(pid) })
			}
		})
	}
}

// An adapter that was asked and is silent for too long is given up, and all that wait for it hear so at once.
func TestSilence(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d, err := drivers.Start("exec:exec " + strconv.Quote(self) + " hostile 'stops reading'")
	if err != nil {
		t.Fatal(err)
	}
	svc, err := d.Open(t.Context(), drivers.Config{IOTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	s := svc.(*service)
	s.silence = 100 * time.Millisecond
	session, err := s.Session(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	tried := make(chan error)
	go func() {
		_, err := session.Try(t.Context(), &drivers.Lease{Key: "k"})
		tried <- err
	}()
	testwait.Until(t, "it is given up", func() bool { return s.Broken() != nil })
	if err := <-tried; drivers.ClassOf(err) != drivers.ClassTimeout || !strings.Contains(err.Error(), "hostile 'stops reading'\": it is asked, and has answered nothing for ") {
		t.Errorf("%v (%s)", err, drivers.ClassOf(err))
	}
	_ = s.Close()
	if !s.process(0).process.Gone() {
		t.Error("its process is left")
	}
}
