package exec

// Workers that are none.

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// faked returns the options of a fake worker, which prints one text for each request.
func faked(t *testing.T, texts ...string) Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Argv: append([]string{self, "fake"}, texts...), Driver: "rueidis",
		Config: drivers.Config{Addrs: []string{"redis://user:hunter2@localhost"}},
	}
}

// What a fake worker answers until a try.
const (
	helloed = `{"id":1,"hello":{"version":2}}` + "\n"
	opened  = `{"id":2,"traits":{"exclusive":true}}` + "\n"
	begun   = `{"id":3}` + "\n"
)

func TestNonsense(t *testing.T) {
	for _, tt := range []struct {
		name  string
		texts []string // the second answers a try
		class drivers.Class
		want  string
	}{
		{"an unknown event", []string{`{"event":"pause","at_ns":1}` + "\n"}, drivers.ClassProtocol, `event: "pause" is unknown`},
		{"no traits", []string{helloed, `{"id":2,"at_ns":100}` + "\n"}, drivers.ClassProtocol, "worker: open: the answer has no field traits"},
		{"an error", []string{helloed, `{"id":2,"at_ns":100,"error":{"class":"auth","text":"who?"}}` + "\n"}, drivers.ClassAuth, "worker: open: who?"},
		{"death", []string{"stderr:a library is missing", "exit:3"}, drivers.ClassClosed, "it has ended: exit status 3; it says: a library is missing"},
		{"a secret", []string{"stderr:no user:hunter2 at redis://user:hunter2@localhost", "exit:0"}, drivers.ClassClosed, "it says: no user:*** at ***"},
		{"a secret that the limit of a line cuts", []string{strings.Repeat("x", 196) + "hunter2\n"}, drivers.ClassProtocol, "xx***"},
		{"no held", []string{helloed, opened, begun, `{"id":4,"at_ns":200}` + "\n"}, drivers.ClassProtocol, "worker: try: the answer has no field held"},
		{"death in a try", []string{helloed, opened, begun, "exit:4"}, drivers.ClassClosed, "it has ended: exit status 4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, err := Start(t.Context(), faked(t, tt.texts...))
			if err == nil {
				_, err = w.Session().Try(t.Context(), &drivers.Lease{Key: "k", TTL: time.Minute})
				defer w.Kill()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || drivers.ClassOf(err) != tt.class {
				t.Errorf("%v (%s)\nwant %s (%s)", err, drivers.ClassOf(err), tt.want, tt.class)
			}
			for _, part := range []string{"hunt", "ter2"} {
				if err != nil && strings.Contains(err.Error(), part) {
					t.Errorf("the error has %s of the password: %v", part, err)
				}
			}
		})
	}
}

// A worker that ends in the middle of a line. It needs no second request for that.
func TestHalfALine(t *testing.T) {
	o := faked(t)
	o.Argv = []string{"sh", "-c", `read request; printf '{"id":1,'; exit 3`}
	if _, err := Start(t.Context(), o); err == nil ||
		!strings.Contains(err.Error(), "it has ended: exit status 3, in the middle of a line") {
		t.Error(err)
	}
}

// A worker that never answers is waited for as long as the context lasts, and killed.
func TestNoAnswer(t *testing.T) {
	w, err := Start(t.Context(), faked(t, helloed, opened, begun))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	l := &drivers.Lease{Key: "k", TTL: time.Minute}
	if _, err := w.Session().Try(ctx, l); drivers.ClassOf(err) != drivers.ClassTimeout || drivers.NoEffect(err) {
		t.Errorf("Try: %v (%s)", err, drivers.ClassOf(err))
	}
	if d, err := w.Kill(); err != nil || d.State != "signal: killed" {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := w.Kill(); err == nil || !strings.Contains(err.Error(), "it has ended before: signal: killed") {
		t.Errorf("killed twice: %v", err)
	}
	if _, err := w.Session().Release(t.Context(), l); drivers.ClassOf(err) != drivers.ClassClosed {
		t.Errorf("Release by a worker that is gone: %v (%s)", err, drivers.ClassOf(err))
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestStartErrors(t *testing.T) {
	if _, err := Start(t.Context(), Options{Argv: []string{"/nonexistent"}}); err == nil ||
		!strings.HasPrefix(err.Error(), "worker: start: ") {
		t.Error(err)
	}
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Driver: "memoy"}, `worker: open: driver: unknown driver "memoy"`},
		{Options{Driver: "memory", Config: drivers.Config{Lock: "mutx"}}, `worker: open: lock: unknown lock "mutx"`},
		{Options{Driver: "rueidis", Config: drivers.Config{Addrs: []string{"redis://u:hunter2@[::1"}}}, "worker: open: "},
	} {
		if _, err := Start(t.Context(), tt.o); err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}
