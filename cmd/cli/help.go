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

// entries are those of lists, the first with its heading, and paragraphs with what is indented below them.
var entries = regexp.MustCompile(`(?m)^((\S.*:\n)? {1,2}\S.*\n( {3}.*\n)*|(\S.*\n)+( .*\n)*)`)

// explain returns the passages of the help that begin with a word, or else have it, and names the topics that do. It is
// empty if the help has no such word.
func explain(word string) (text string) {
	if word = strings.TrimSuffix(strings.TrimSpace(word), "s"); word == "" {
		return ""
	}
	has := regexp.MustCompile(`(?i)(^|\W)` + regexp.QuoteMeta(word))
	last := len(topics) - 1 // the glossary
	var pages, found []string
	for _, topic := range slices.Concat(topics[last:], topics[:last]) {
		pages = append(pages, page(topic))
		if has.MatchString(helpFile(topic)) {
			found = append(found, topic)
		}
	}
	begins := regexp.MustCompile(`^(\S.*:\n)?[ *-]*` + has.String())
	for _, fits := range []*regexp.Regexp{begins, has} {
		for n, i := 0, 0; text == "" && i < len(pages); i++ {
			title, rest, _ := strings.Cut(pages[i], "\n")
			title += "\n\n"
			for _, entry := range entries.FindAllString(rest, -1) {
				if fits.MatchString(entry) && n < maxPassages {
					n, text, title = n+1, text+title+entry+"\n", ""
				}
			}
		}
	}
	if len(found) > 0 {
		text += "More: lockbench help " + strings.Join(found[:min(len(found), maxTopics)], ", ") + "\n"
	}
	return text
}
