package draw

import (
	"regexp"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/pagetest"
	"github.com/lockbench/lockbench/results/report"
)

// TestLivePage: it has nothing that its policy forbids, and no part that no event fills.
func TestLivePage(t *testing.T) {
	page, policy := string(LivePage("lockbench <run>")), LivePolicy()
	pagetest.Alone(t, page, "status", LiveHead, LiveTrial, LiveSoFar)
	for _, kind := range []string{"script", "style"} {
		for _, m := range regexp.MustCompile(`(?s)<`+kind+`>(.*?)</`+kind+`>`).FindAllStringSubmatch(page, -1) {
			if !strings.Contains(policy, "'sha256-"+hashOf(m[1])+"'") {
				t.Errorf("the policy forbids a %s that begins with %.60q", kind, m[1])
			}
		}
	}
	if strings.Contains(page, "Content-Security-Policy") || !strings.Contains(page, "lockbench &lt;run&gt;") {
		t.Error("the page has a policy of its own, or a title that is not escaped")
	}
}

// TestLiveHarmless: what a record holds is text.
func TestLiveHarmless(t *testing.T) {
	evil := "<script>alert(1)</script><b onclick=x>\x00\u202e"
	d := &report.Document{Kind: evil, Title: evil, When: evil, Key: []report.Figure{{Value: evil, Unit: evil}}}
	d.Picture = report.Section{ID: "trial", Title: evil, Blocks: []report.Block{report.Progress{Name: evil, Share: 0.376, Text: evil}}}
	head, trial, err := LiveNow(d)
	if err != nil {
		t.Fatal(err)
	}
	soFar, err := SoFar(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{string(head), string(trial), string(soFar)} {
		pagetest.Harmless(t, "<body>"+part+"<script></script></body>")
	}
	if want := `<progress max="100" value="38" aria-label="`; !strings.Contains(string(trial), want) {
		t.Errorf("no %s in %s", want, trial)
	}
	if !strings.HasPrefix(string(soFar), `<section><h2>So far: `) {
		t.Errorf("%.80q", soFar)
	}
}
