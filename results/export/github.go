package export

// Workflow commands, by which a step of GitHub Actions puts annotations on a run and its pull request:
// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
)

// annotationsShown is how many annotations of a level GitHub shows of one step; what comes after them is lost without a word.
const annotationsShown = 10

// annotation is one workflow command.
type annotation struct {
	level, title, message string
	reason                compare.Reason // of a warning
}

// Annotations writes an error for every threshold that is missed, a warning for every one of which nothing can be told,
// and a notice for every improvement, of each the worst first (compare.Worse). If there are more of a level than GitHub
// shows, there are some for each of its reasons, and the last one says how many there are besides.
func Annotations(w io.Writer, c *compare.Comparison) error {
	levels := map[compare.Verdict]string{compare.Regressed: "error", compare.Inconclusive: "warning", compare.Improved: "notice"}
	found := map[string][]annotation{}
	if c.Lacking {
		title := fmt.Sprintf("inconclusive: %s only in the base", format.Plural(len(c.Missing), "cell"))
		found["warning"] = []annotation{{"warning", title, plain(format.FewClauses(c.Missing, annotationsShown)), compare.Missing}}
	}
	for _, r := range c.Judged() {
		level := levels[r.Verdict]
		if level == "" {
			continue
		}
		title := string(r.Verdict) + ": " + r.Threshold.Text
		if label := c.Cells[r.Cell].Label; label != "" {
			title += " in " + label
		}
		text := sentence(r.Result)
		if r.Threshold.Relative && !math.IsNaN(r.P) {
			text += " p " + format.P(r.P) + "." // which has no column here
		}
		found[level] = append(found[level], annotation{level, plain(title), text, r.Reason})
	}
	if all := c.Verdict; found[levels[all]] == nil && levels[all] != "" { // nothing was compared, or a reason beyond the figures
		a := annotation{levels[all], string(all), plain(strings.Join(c.Notes, "; ")), ""}
		found[levels[all]] = []annotation{a}
	}
	for _, level := range []string{"error", "warning", "notice"} {
		list := found[level]
		if more := len(list) - annotationsShown; more > 0 {
			rest := annotation{level, fmt.Sprintf("%d more", more+1), "GitHub shows no more than ten: see the summary of the step", ""}
			list = append(some(list, annotationsShown-1), rest)
		}
		for _, a := range list {
			if _, err := fmt.Fprintf(w, "::%s title=%s::%s\n", a.level, property(a.title), message(a.message)); err != nil {
				return err
			}
		}
	}
	return nil
}

// some returns so many of list, in its order: the first of each reason, then the second of each, and so on.
func some(list []annotation, most int) (kept []annotation) {
	turns := make([]int, len(list)) // in which turn of its reason each would be taken
	seen := map[compare.Reason]int{}
	for i, a := range list {
		turns[i] = seen[a.reason]
		seen[a.reason]++
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
	for i, a := range list {
		if keep[i] {
			kept = append(kept, a)
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
