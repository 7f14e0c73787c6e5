package export

// Workflow commands, by which a step of GitHub Actions puts annotations on a run and its pull request:
// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands

import (
	"cmp"
	"fmt"
	"io"
	"slices"
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

// levels are those of annotations, by what became of a threshold; those that pass have none.
var levels = map[outcome]string{failed: "error", skipped: "warning", improved: "notice"}

// Annotations writes an error for every threshold that is missed, a warning for every one of which nothing can be told,
// and a notice for every improvement, of each the worst first (compare.Worse). If there are more of a level than GitHub
// shows, there are some for each of its reasons, and the last one says how many there are besides.
func Annotations(w io.Writer, c *compare.Comparison) error {
	var list []annotation
	if c.Lacking {
		title := fmt.Sprintf("inconclusive: %s only in the base", format.Plural(len(c.Missing), "cell"))
		list = append(list, annotation{"warning", title, plain(format.FewClauses(c.Missing, annotationsShown)), compare.Missing})
	}
	list = append(list, annotationsOf(judgedOf(c))...)
	level := map[compare.Verdict]string{compare.Regressed: "error", compare.Inconclusive: "warning", compare.Improved: "notice"}[c.Verdict]
	if level != "" && !slices.ContainsFunc(list, func(a annotation) bool { return a.level == level }) {
		// Nothing was compared, or there is a reason beyond the figures.
		list = append(list, annotation{level, string(c.Verdict), plain(strings.Join(c.Notes, "; ")), ""})
	}
	return writeAnnotations(w, list)
}

// annotationsOf returns those of judged results, the worst first.
func annotationsOf(list []judged) (all []annotation) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b judged) int { return cmp.Compare(a.worst, b.worst) })
	for _, j := range list {
		if levels[j.outcome] == "" {
			continue
		}
		title, text := j.verdict+": "+j.name, j.message
		if j.cell != "" {
			title += " in " + j.cell
		}
		if j.p != "" {
			text += " p " + j.p + "." // which has no column here
		}
		all = append(all, annotation{levels[j.outcome], plain(title), text, j.reason})
	}
	return all
}

// writeAnnotations writes errors, then warnings, then notices, as many of each as GitHub shows.
func writeAnnotations(w io.Writer, all []annotation) error {
	for _, level := range []string{"error", "warning", "notice"} {
		list := slices.DeleteFunc(slices.Clone(all), func(a annotation) bool { return a.level != level })
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
