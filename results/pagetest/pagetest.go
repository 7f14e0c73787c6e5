// Package pagetest helps to test what is drawn: pages, and texts that are kept.
package pagetest

import (
	"encoding/xml"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/format"
)

// Update is the flag -update.
var Update = flag.Bool("update", false, "write the golden files anew")

// Golden compares a text with a file of testdata, which -update writes.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *Update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it anew); got:\n%s", path, got)
	}
}

// Width holds the lines of a text to a width, and to end where their texts do.
func Width(t *testing.T, text string, width int) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if n := format.Width(line); n > width {
			t.Errorf("%d columns in a line: %s", n, line)
		}
		if strings.TrimRight(line, " ") != line {
			t.Errorf("blanks at the end of a line: %q", line)
		}
	}
}

var script = regexp.MustCompile(`(?s)<(script|style)>.*?</(script|style)>`)

// Elements returns those of a page, which has to be well-formed. The text of its own style and script is left out.
func Elements(t testing.TB, page string) (all []xml.StartElement) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(script.ReplaceAllString(page, "<$1></$1>")))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok {
			all = append(all, e.Copy())
		}
	}
}

// Alone holds a page to what all have to be: well-formed, without anything from elsewhere, with no link that leads
// nowhere and no number that is none, and with some sections.
func Alone(t *testing.T, page string, sections ...string) {
	t.Helper()
	ids := map[string]bool{}
	var links []string
	for _, e := range Elements(t, page) {
		for _, a := range e.Attr {
			switch a.Name.Local {
			case "id":
				if ids[a.Value] {
					t.Errorf("id %q twice", a.Value)
				}
				ids[a.Value] = true
			case "src", "href", "srcset", "action", "data", "poster":
				if !strings.HasPrefix(a.Value, "#") && !strings.HasPrefix(a.Value, "data:") {
					t.Errorf("%s refers to %q", e.Name.Local, a.Value)
				}
				links = append(links, a.Value)
			}
		}
		switch e.Name.Local {
		case "iframe", "object", "embed", "img", "base":
			t.Errorf("there is a %s", e.Name.Local)
		}
	}
	for _, link := range links {
		if id, ok := strings.CutPrefix(link, "#"); ok && !ids[id] {
			t.Errorf("nothing has the id of the link %q", link)
		}
	}
	for _, id := range sections {
		if !ids[id] {
			t.Errorf("no section %q", id)
		}
	}
	for _, far := range []string{"url(", "@import"} {
		if strings.Contains(page, far) {
			t.Errorf("the page refers to another file: %s", far)
		}
	}
	for _, bad := range []string{"NaN", "Inf", "ZgotmplZ", "%!"} {
		if strings.Contains(script.ReplaceAllString(page, ""), bad) {
			t.Errorf("page has %q", bad)
		}
	}
}

// Appear finds texts in a page, each behind the last.
func Appear(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		_, rest, found := strings.Cut(page, text)
		if !found {
			t.Errorf("no %q, or not here", text)
			return
		}
		page = rest
	}
}

// Harmless holds a page to run nothing but its own script, whatever texts it has.
func Harmless(t *testing.T, page string) {
	t.Helper()
	scripts := 0
	for _, e := range Elements(t, page) {
		if e.Name.Local == "script" {
			scripts++
		}
		for _, a := range e.Attr {
			if strings.HasPrefix(a.Name.Local, "on") {
				t.Errorf("%s has the handler %s", e.Name.Local, a.Name.Local)
			}
		}
	}
	if scripts != 1 || strings.Contains(page, "<script>alert") || strings.ContainsAny(page, "\x00\x1b\u202e") {
		t.Errorf("%d scripts, or text of a record is not escaped", scripts)
	}
}
