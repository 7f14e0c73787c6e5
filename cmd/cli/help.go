// lockbench help: a front page, all flags, a page for each command and each topic, and passages that explain a word.

package cli

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
)

// helpCommand makes lockbench help [COMMAND|TOPIC|WORD].
func (p *program) helpCommand(root *cobra.Command) *cobra.Command {
	names := slices.Concat([]string{allFlagsPage}, topics, commandNames(root))
	about := func(_ context.Context, _ *options, args []string) error {
		if found, rest, err := root.Find(args); err == nil && len(rest) == 0 {
			return p.help(found)
		}
		word := strings.Join(args, " ")
		text := explain(word)
		if name := strings.ToLower(word); name == allFlagsPage || slices.Contains(topics, name) {
			text = page(name)
		}
		if text == "" {
			return usageErrorf("help: nothing is called %q%s; there are %s", word,
				suggest.DidYouMean("", word, names), strings.Join(names, ", "))
		}
		_, err := io.WriteString(p.stdout, text)
		return err
	}
	const short = "Print the help of lockbench, of a command or about a topic or a word"
	return p.command(command{"help [COMMAND|TOPIC|WORD]", short, cobra.ArbitraryArgs, names, nil, about})
}

// help writes the help of a command; that of the root and of run is the front page.
func (p *program) help(c *cobra.Command) error {
	text := page(frontPage)
	if c.HasParent() && c.Name() != "run" {
		var defs []flagDef
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if opt, ok := f.Value.(*option); ok { // of this command: another's of that name may mean something else
				defs = append(defs, opt.flagDef)
			}
		})
		about := c.Short + ".\n"
		if _, err := helpFiles.Open("help/commands/" + c.Name() + ".txt"); err == nil {
			about = page("commands/" + c.Name())
		}
		text = fmt.Sprintf("%s\nUsage:\n  lockbench %s\n%s", about, c.Use, flagHelp(defs))
	}
	_, err := io.WriteString(p.stdout, text)
	return err
}

func commandNames(root *cobra.Command) (names []string) {
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

const maxPassages, maxTopics = 4, 6 // that explain prints

// explain returns the passages that begin with a word, or else those that have it, of the topics that it leads to or
// else of all; and names the topics that have it. It is empty if the help has no such word.
func explain(word string) (text string) {
	if word = strings.TrimSuffix(strings.TrimSpace(word), "s"); word == "" {
		return ""
	}
	all := passages()
	for _, end := range []string{`s?(\W|$)`, ""} { // as a word, or else as the beginning of one
		has := regexp.MustCompile(`(?i)(^|\W)` + regexp.QuoteMeta(word) + end)
		begins := regexp.MustCompile(`^(\S.*:\n)?[ *-]*` + has.String())
		for _, fits := range []func(passage) bool{
			func(p passage) bool { return begins.MatchString(p.text) },
			func(p passage) bool { return has.MatchString(p.words) && has.MatchString(p.text) },
			func(p passage) bool { return has.MatchString(p.words) && p.first },
			func(p passage) bool { return has.MatchString(p.text) },
		} {
			found := slices.DeleteFunc(slices.Clone(all), func(p passage) bool { return !fits(p) })
			for _, p := range found[:min(len(found), maxPassages)] {
				if !strings.Contains(text, p.title) {
					text += p.title + "\n\n"
				}
				text += p.text + "\n"
			}
			if text != "" {
				return text + more(has)
			}
		}
	}
	return ""
}

// more names the topics that have a word.
func more(word *regexp.Regexp) string {
	has := slices.DeleteFunc(slices.Clone(topics), func(topic string) bool { return !word.MatchString(helpFile(topic)) })
	if len(has) == 0 {
		return ""
	}
	return "More: lockbench help " + strings.Join(has[:min(len(has), maxTopics)], ", ") + "\n"
}

// passage is a paragraph of a page, or an entry of a list in it.
type passage struct {
	title, text string
	words       string // that lead to the topic
	first       bool   // of the topic
}

var (
	// parts are entries of lists, the first with the heading, and paragraphs with what is indented below them, or with the
	// examples that they announce.
	parts = regexp.MustCompile(`(?m)^((\S.*:\n)? {1,2}\S.*\n( {3}.*\n)*|` +
		`(\S.*\n)*\S.*:\n\n( +(\S+=\S+ )*lockbench .*\n)+|(\S.*\n)+( .*\n)*)`)

	example = regexp.MustCompile(`^ +(\S+=\S+ )*(lockbench|kubectl|srun|mpirun|go run|benchstat) `)
)

// passages are those of all topics, the glossary first, and of the lists that no topic has.
func passages() (all []passage) {
	add := func(title, words, text string) {
		for i, part := range slices.DeleteFunc(parts.FindAllString(text, -1), example.MatchString) {
			all = append(all, passage{title, part, words, i == 0})
		}
	}
	last := len(topics) - 1
	for _, topic := range slices.Concat(topics[last:], topics[:last]) {
		title, text, _ := strings.Cut(page(topic), "\n")
		_, words, _ := helpText(topic)
		add(title, title+", "+words, text)
	}
	add("lock designs: lockbench list DRIVER says more", "", catalog.Designs())
	add("hazards: what lockbench prove makes happen", "", catalog.Hazards())
	return all
}
