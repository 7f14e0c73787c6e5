package export

// Workflow commands, by which a step of GitHub Actions puts annotations on a run and its pull request:
// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/report"
)

// annotationsShown is how many annotations of a level GitHub shows of one step; what comes after them is lost without a word.
const annotationsShown = 10

// levels are those of annotations, in the order in which they are written.
var levels = []struct {
	tone report.Tone
	name string
}{{report.Bad, "error"}, {report.Warn, "warning"}, {report.Good, "notice"}}

// Annotations writes an error for every alert that has failed, a warning for every one of which nothing can be told, and a notice for
// every improvement, of each the worst first. If there are more of a level than GitHub shows, there are some for each of its reasons,
// and the last one says how many there are besides.
func Annotations(w io.Writer, j *report.Judged) error {
	for _, level := range levels {
		list := slices.DeleteFunc(slices.Clone(j.Alerts), func(c report.Case) bool { return c.Tone != level.tone })
		if more := len(list) - annotationsShown; more > 0 {
			rest := report.Case{Name: fmt.Sprintf("%d more", more+1), Text: "GitHub shows no more than ten: see the summary of the step"}
			list = append(some(list, annotationsShown-1), rest)
		}
		for _, c := range list {
			title := c.Name
			if c.Verdict != "" {
				title = c.Verdict + ": " + title
			}
			if c.Within != "" {
				title += " in " + c.Within
			}
			if _, err := fmt.Fprintf(w, "::%s title=%s::%s\n", level.name, property(plain(title)), message(plain(c.Text))); err != nil {
				return err
			}
		}
	}
	return nil
}

// some returns so many of list, in its order: the first of each reason, then the second of each, and so on.
func some(list []report.Case, most int) (kept []report.Case) {
	turns := make([]int, len(list)) // in which turn of its reason each would be taken
	seen := map[string]int{}
	for i, c := range list {
		turns[i] = seen[c.Reason]
		seen[c.Reason]++
	}
	keep := make([]bool, len(list))
	for turn := 0; most > 0 && turn < len(list); turn++ {
		for i := range list {
			if turns[i] == turn && most > 0 {
				keep[i] = true
				most--
			}
		}
	}
	for i, c := range list {
		if keep[i] {
			kept = append(kept, c)
		}
	}
	return kept
}

// message escapes what would end a command, as actions/toolkit does (packages/core/src/command.ts).
func message(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// property returns a message that ends before the next property, too.
func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(message(s))
}

// SummaryLimit is how many bytes GitHub takes for the summary of a step, before it shows none of it at all.
const SummaryLimit = 1 << 20

// Fit cuts Markdown to at most room bytes at the end of a line, and says so.
func Fit(markdown string, room int) string {
	if len(markdown) <= room {
		return markdown
	}
	const cut = "\n\n*… cut here: GitHub takes no more than 1 MiB for the summary of a step.*\n"
	room -= len(cut)
	if room <= 0 {
		return ""
	}
	end := strings.LastIndexByte(markdown[:room+1], '\n')
	if end < 0 {
		return strings.TrimPrefix(cut, "\n\n")
	}
	return markdown[:end] + cut
}
