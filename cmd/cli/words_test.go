package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
)

// TestWords: what people type leads to a page that there is, by a command that is right, and has no page of its own.
func TestWords(t *testing.T) {
	t.Chdir(t.TempDir())
	rows := map[string]int{}
	for i, w := range words {
		if aboutListed(w.page) == (about{}) && aboutTopic(w.page) == (about{}) && w.page != frontPage {
			t.Errorf("%s: there is no page %q", w.typed, w.page)
		}
		for _, text := range strings.Fields(w.typed) {
			if at, known := rows[plain(text)]; known && at != i {
				t.Errorf("%s stands in two rows", text)
			}
			rows[plain(text)] = i
			if aboutListed(text) != (about{}) || aboutTopic(text) != (about{}) {
				t.Errorf("%s has a page of its own", text)
			}
		}
		for _, line := range w.try {
			if err := parseExample(t, shellWords(t, strings.TrimPrefix(line, "lockbench "))); err != nil {
				t.Errorf("%s: %s: %v", w.typed, line, err)
			}
		}
	}
}

// TestLookUp: a word leads to its page, in whatever case and with hyphens or without.
func TestLookUp(t *testing.T) {
	for _, test := range []struct{ text, lead, page string }{
		{"choose", "", "choose"},
		{"Topologies", "", "topologies"},
		{"topology", "Servers that form one service: ", "topologies"},
		{"redlock", "Redlock is a topology", "topologies"},
		{"RedLock", "Redlock is a topology", "topologies"},
		{"sentinel", "Sentinel is a topology, a primary of Redis that a replica replaces", "topologies"},
		{"Redisson", "", "redisson"},
		{"SETNX", "", "setnx"},
		{"set nx", "", "set-nx"},
		{"ShedLock", "ShedLock takes a row", "unique-row"},
		{"pause", "A GC pause, ", "holder-pauses"},
		{"gc", "A GC pause, ", "holder-pauses"},
		{"GC pauses", "A GC pause, ", "holder-pauses"},
		{"holder-pauses", "", "holder-pauses"},
		{"failover", "", "failover"},
		{"cron", "Cron on many machines", "choose"},
		{"leader", "Leader election", "choose"},
		{"cron-herd", "", "cron-herd"},
		{"PostgreSQL", "PostgreSQL is the service", "postgres"},
		{"queue", "-wait queue: ", "waiting"},
		{"ttl", "-ttl TIME: ", "leases"},
		{"hold", "hold: the time from a grant", ""},
		{"Jain", "jain: Jain's index", ""},
		{"owned", "owned: only the holder", ""},
		{"behind", "behind: by Little's law", "marks"},
		{"longest-wait", "longest-wait: ", "figures"},
		{"waits", "", "waits"},
		{"topics", "The topics", frontPage},
	} {
		a, ok := lookUp(test.text, helpOrder)
		if !ok || a.topic+a.listed != test.page || !strings.HasPrefix(strings.ToLower(a.lead), strings.ToLower(test.lead)) || (a.lead == "") != (test.lead == "") {
			t.Errorf("%s: %+v, found %t; want %q, page %q", test.text, a, ok, test.lead, test.page)
		}
	}
	if a, ok := lookUp("nonsense", helpOrder); ok {
		t.Errorf("nonsense leads to %+v", a)
	}
	// What lockbench list has a page of comes first there.
	for _, name := range []string{"lease", "servers", "hazards"} {
		if a, _ := lookUp(name, listOrder); a.listed != name {
			t.Errorf("list %s leads to %+v", name, a)
		}
	}
}

// TestLeadsWarn: a page says first whether Redlock and Sentinel are safe.
func TestLeadsWarn(t *testing.T) {
	for text, want := range map[string]string{"redlock": "safe only as long as clocks and pauses", "sentinel": "can grant a lock twice"} {
		if a, _ := lookUp(text, helpOrder); !strings.Contains(a.lead, want) || !strings.Contains(a.lead, "lockbench prove -driver rueidis@"+text) {
			t.Errorf("%s: %s", text, a.lead)
		}
	}
}

// TestMeant: a name that belongs elsewhere is told where.
func TestMeant(t *testing.T) {
	locks := matrix.Names("lock")
	for text, want := range map[string]string{
		"redlock": " (Redlock is a topology, several servers that grant a lock by majority: -driver rueidis@redlock, or -topology redlock)",
		"RLock":   " (did you mean redisson?)",
		"SetNX":   " (did you mean setnx?)",
		"pubsub":  " (did you mean -wait pubsub?)",
		"fencedd": " (did you mean fenced?)",
		"xyzzy":   "",
	} {
		if got := meant(text, locks); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestGlossary: each word is defined once, in order, and briefly.
func TestGlossary(t *testing.T) {
	if !slices.IsSortedFunc(report.Glossary, func(a, b report.Term) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) }) {
		t.Error("it is not in alphabetical order")
	}
	seen := map[string]bool{}
	for _, term := range catalog.Glossary() {
		if term.Means == "" || len(term.Means) > 330 || seen[plain(term.Name)] {
			t.Errorf("%s: %d bytes, defined before: %t", term.Name, len(term.Means), seen[plain(term.Name)])
		}
		seen[plain(term.Name)] = true
	}
}

// TestReadmeChoice: the flags and the names of the README's answer to "Which lock?" exist.
func TestReadmeChoice(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "## Which lock?")
	section, _, _ := strings.Cut(rest, "\n## ")
	_, answer, found := strings.Cut(section, "`lockbench help choose`")
	if !found {
		t.Fatal("it does not name lockbench help choose")
	}
	known := slices.Concat(catalog.Names(), presets.Names())
	for _, span := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(answer, -1) {
		if !strings.HasPrefix(span[1], "-") {
			if !slices.Contains(known, span[1]) {
				t.Errorf("there is no %s", span[1])
			}
			continue
		}
		if err := parseExample(t, strings.Fields(span[1])); err != nil {
			t.Errorf("%s: %v", span[1], err)
		}
	}
}
