package text

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/pagetest"
)

// checks returns what is drawn: one cell, several of which one is missing, and more than have a line each.
func checks(t *testing.T) map[string]*compare.Check {
	t.Helper()
	on := func(text string) []compare.Threshold {
		list, err := compare.ParseThresholds(text)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	several := []*results.Record{record(1), record(2), record(3)}
	several[1].Plan.Driver, several[1].Safety.Violations = "<b>`redsync`</b>", 7
	several[2].Plan.Driver, several[2].Partial = "etcd", "stopped by interrupt"
	var many []*results.Record
	for i := range 30 {
		r := record(1)
		r.ID, r.Plan.Clients = fmt.Sprint("many", i), i+1
		many = append(many, r)
	}
	return map[string]*compare.Check{
		"one":     compare.CheckCells(group(t, record(1)), on("acquire.p99>20ms,locks/s<9k,response.p99>20ms"), nil),
		"several": compare.CheckCells(group(t, several...), on("acquire.p99>20ms,locks/s<8.2k,violations>0"), []string{"postgres"}),
		"many":    compare.CheckCells(group(t, many...), on("locks/s<1k"), nil),
		"none":    compare.CheckCells(group(t, several...), nil, nil),
	}
}

func TestCheck(t *testing.T) {
	for name, c := range checks(t) {
		var text, colored, markdown bytes.Buffer
		if err := Check(&text, c, Options{Width: 80}); err != nil {
			t.Fatal(err)
		}
		pagetest.Width(t, text.String(), 80)
		if err := Check(&colored, c, Options{Width: 80, Color: true}); err != nil {
			t.Fatal(err)
		}
		if plain := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(colored.String(), ""); plain != text.String() {
			t.Errorf("%s: the coloured output is not the plain one with colours", name)
		}
		if err := CheckMarkdown(&markdown, c); err != nil {
			t.Fatal(err)
		}
		if name == "none" {
			if text.Len()+markdown.Len() > 0 {
				t.Errorf("without thresholds: %s%s", &text, &markdown)
			}
			continue
		}
		pagetest.Golden(t, "check-"+name+".txt", text.String())
		pagetest.Golden(t, "check-"+name+".md", markdown.String())
		if strings.Contains(markdown.String(), "<b>") {
			t.Errorf("%s: HTML in Markdown", name)
		}
		if err := Check(full{}, c, Options{}); err == nil {
			t.Errorf("%s: full disk: no error", name)
		}
	}
}
