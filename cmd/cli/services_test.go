package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/target"
)

// Every driver that needs a server has a row for its service and one for its library.
func TestServices(t *testing.T) {
	for _, name := range drivers.Names() {
		if strings.HasPrefix(name, "test-") {
			continue
		}
		d, _ := drivers.Lookup(name)
		_, addressed := d.(drivers.Addressed)
		known := matrix.Library(name).Module != ""
		if addressed != known {
			t.Errorf("%s: it has addresses: %t; it has a library: %t", name, addressed, known)
		}
		if s := target.Service(name); addressed && (s == nil || s.Find == nil || s.Start == nil || s.Packages == "") {
			t.Errorf("%s: incomplete service %+v", name, s)
		}
	}
}

// TestUndescribedService: a driver whose service nobody has registered can be pointed at a server, and says so.
func TestUndescribedService(t *testing.T) {
	var listed bytes.Buffer
	if code := run([]string{"list"}, nil, &listed, io.Discard, nil, nil); code != 0 || !strings.Contains(listed.String(), "needs -addr") {
		t.Errorf("list: exit code %d, %s", code, &listed)
	}
	for args, want := range map[string]string{
		"-dry-run":                       "lockbench cannot start gamma: give -addr with the address of yours\n",
		"-addr h:1 -dry-run":             "# server: external gamma://h:1 (-addr)",
		"-addr h:1 -duration 20ms -n 10": "test-gamma",
	} {
		var stdout, stderr bytes.Buffer
		run(strings.Fields("-driver test-gamma -quiet -warmup 0s "+args), strings.NewReader(""), &stdout, &stderr, nil, nil)
		if out := stdout.String() + stderr.String(); !strings.Contains(out, want) {
			t.Errorf("%s: no %q in %s", args, want, out)
		}
	}
}

// Packages do not help who has the server looked for elsewhere.
func TestInstallNamesTheVariable(t *testing.T) {
	s := target.Service("zookeeper")
	t.Setenv(s.Home, "")
	if got := s.Install(); got != "apt-get install "+s.Packages {
		t.Error(got)
	}
	t.Setenv(s.Home, "/nowhere")
	if got := s.Install(); !strings.Contains(got, "unset "+s.Home) {
		t.Error(got)
	}
}
