package cli

import (
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers"
)

// Every driver that needs a server has a row for its service and one for its library; schemes belong to one service.
func TestServices(t *testing.T) {
	for _, name := range drivers.Names() {
		if strings.HasPrefix(name, "test-") {
			continue
		}
		d, _ := drivers.Lookup(name)
		_, addressed := d.(drivers.Addressed)
		_, known := libraries[name]
		if addressed != known {
			t.Errorf("%s: it has addresses: %t; it has a library: %t", name, addressed, known)
		}
		if s := serviceOf(name); addressed && (s == nil || s.find == nil || s.start == nil || s.packages == "") {
			t.Errorf("%s: incomplete service %+v", name, s)
		}
	}
	owners := map[string]string{}
	for _, s := range services {
		for _, scheme := range s.schemes {
			if owners[scheme] != "" {
				t.Errorf("%s:// belongs to %s and to %s", scheme, owners[scheme], s.name)
			}
			owners[scheme] = s.name
		}
	}
}

// Packages do not help who has the server looked for elsewhere.
func TestInstallNamesTheVariable(t *testing.T) {
	s := serviceOf("zookeeper")
	t.Setenv(s.home, "")
	if got := s.install(); got != "apt-get install "+s.packages {
		t.Error(got)
	}
	t.Setenv(s.home, "/nowhere")
	if got := s.install(); !strings.Contains(got, "unset "+s.home) {
		t.Error(got)
	}
}
