package draw

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/capacity/capacitytest"
	"github.com/lockbench/lockbench/results/pagetest"
	"github.com/lockbench/lockbench/results/report"
)

// longest is how many lines an answer has at the most in short, by its candidates.
var longest = map[int]int{0: 25, 1: 25, 2: 28, 5: 38, 12: 60}

// unprintable are figures that nobody should read.
var unprintable = regexp.MustCompile(`NaN|Inf|%!|\(\)|–/s|\b0 ns|:  *\.`)

func TestPlan(t *testing.T) {
	for _, name := range capacitytest.Names {
		t.Run(name, func(t *testing.T) {
			a := capacitytest.Answer(name)
			var short, whole, colored, paper, markdown bytes.Buffer
			for _, err := range []error{
				Terminal(&short, report.Plan(a), Options{}), Terminal(&whole, report.Plan(a), Options{Verbose: true}), Terminal(&colored, report.Plan(a), Options{Color: true}),
				Terminal(&paper, paperOf(a), Options{}), Markdown(&markdown, report.Plan(a), CommentRoom),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, text := range []string{short.String(), whole.String(), paper.String()} {
				pagetest.Width(t, text, defaultWidth)
			}
			for _, text := range []string{short.String(), whole.String(), paper.String(), markdown.String()} {
				if strings.ContainsAny(text, "\x00\x1b\u202e\r\t") {
					t.Error("control characters in the output")
				}
				for line := range strings.Lines(text) {
					if bad := unprintable.FindString(strings.TrimSuffix(line, "\n")); bad != "" {
						t.Errorf("%q in %s", bad, line)
					}
				}
			}
			if name != "hostile" {
				if lines := strings.Count(short.String(), "\n"); lines > longest[len(a.Candidates)] {
					t.Errorf("%d lines of %d candidates", lines, len(a.Candidates))
				}
			}
			if plain := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(colored.String(), ""); plain != short.String() {
				t.Error("the coloured output is not the plain one with colours")
			}
			if !strings.Contains(short.String(), strings.TrimRight(paper.String(), "\n")) {
				t.Error("the analysis by itself is another than that of the answer")
			}
			pagetest.Golden(t, "plan-"+name+".txt", short.String())
			pagetest.Golden(t, "plan-"+name+"-v.txt", whole.String())
			pagetest.Golden(t, "plan-"+name+".md", markdown.String())
		})
	}
}

// TestPlanWidths: no line is wider than what it is written for, and columns go in their order.
func TestPlanWidths(t *testing.T) {
	for _, name := range capacitytest.Names {
		for _, width := range []int{60, 70, 80, 90, 121, 160} {
			var text bytes.Buffer
			if err := Terminal(&text, report.Plan(capacitytest.Answer(name)), Options{Width: width, Verbose: width >= 90}); err != nil {
				t.Fatal(err)
			}
			pagetest.Width(t, text.String(), width)
		}
	}
	var text bytes.Buffer
	if err := Terminal(&text, report.Plan(capacitytest.Answer("five")), Options{Width: 50}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), "Left out for lack of room: clients/conns, commands/lock, CPU/lock") {
		t.Errorf("which columns are left out?\n%s", &text)
	}
}

// TestPlanMarkdownIsInert: what a record holds must not become HTML, a link or a picture, in any of its fields.
func TestPlanMarkdownIsInert(t *testing.T) {
	var text bytes.Buffer
	if err := Markdown(&text, report.Plan(capacitytest.Answer("hostile")), CommentRoom); err != nil {
		t.Fatal(err)
	}
	if bad := regexp.MustCompile("<script|[^\\\\]\\]\\(|[^\\\\]`|::error::").FindString(text.String()); bad != "" {
		t.Errorf("%s in Markdown", bad)
	}
}

// TestPlanCommentFits: GitHub takes no comment of more than 65,536 characters, however much there is to say.
func TestPlanCommentFits(t *testing.T) {
	a := capacitytest.Answer("hostile")
	long := strings.Repeat("<very long> ", 1000)
	a.Advice, a.Breaks, a.Unseen = long, long, long
	for range 8 {
		a.Candidates = append(a.Candidates, a.Candidates...)
		a.Warnings, a.Skipped, a.Analysis = append(a.Warnings, a.Warnings...), append(a.Skipped, long), append(a.Analysis, a.Analysis...)
	}
	for i := range a.Candidates {
		a.Candidates[i].Wrong = long + strings.Repeat("x", i)
	}
	var b bytes.Buffer
	if err := Markdown(&b, report.Plan(a), CommentRoom); err != nil {
		t.Fatal(err)
	}
	if b.Len() > CommentRoom || !strings.Contains(b.String(), "more, for which there is no room here") || !strings.Contains(b.String(), "\n- and ") {
		t.Errorf("%d bytes", b.Len())
	}
}

// paperOf returns a document of the analysis alone, which takes no server.
func paperOf(a *capacity.Answer) *report.Document {
	return &report.Document{Blocks: []report.Block{report.PlanAnalysis(a.Known())}}
}

// full is a disk that is.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestPlanErrors(t *testing.T) {
	a := capacitytest.Answer("one")
	for name, err := range map[string]error{
		"text": Terminal(full{}, report.Plan(a), Options{}), "analysis": Terminal(full{}, paperOf(a), Options{}), "markdown": Markdown(full{}, report.Plan(a), CommentRoom),
	} {
		if err == nil || err.Error() != "text: disk full" {
			t.Errorf("%s: full disk: %v", name, err)
		}
	}
}
