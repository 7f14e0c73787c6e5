// lockbench help: a front page, all flags, a page for each command and each topic, and the passages that explain a word.

package cli

import (
	"cmp"
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
	return p.command(&cobra.Command{
		Use:    "help [COMMAND|TOPIC|WORD]",
		Short:  "Print the help of lockbench, of a command or about a topic or a word",
		Hidden: true,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return helpNames(root), cobra.ShellCompDirectiveNoFileComp
		},
	}, nil, func(_ *cobra.Command, _ *options, args []string) error {
		if found, rest, err := root.Find(args); err == nil && len(rest) == 0 {
			return p.help(found)
		}
		word := strings.Join(args, " ")
		text := ""
		if name := strings.ToLower(word); name == allFlagsPage || slices.Contains(topics, name) {
			text = page(name)
		} else if text = explain(word); text == "" {
			known := helpNames(root)
			return usageErrorf("help: nothing is called %q%s; there are %s", word,
				suggest.DidYouMean("", word, slices.Concat(known, helpWords())), strings.Join(known, ", "))
		}
		_, err := io.WriteString(p.stdout, text)
		return err
	})
}

// help writes the help of a command; nil, the root and run mean the front page.
func (p *program) help(c *cobra.Command) error {
	text := page(frontPage)
	if c != nil && c.HasParent() && c.Name() != "run" {
		var defs []flagDef
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if opt, ok := f.Value.(*option); ok { // of this command: another's of that name may mean something else
				defs = append(defs, opt.flagDef)
			}
		})
		text = fmt.Sprintf("%s\nUsage:\n  lockbench %s\n%s", cmp.Or(commandPage(c.Name()), c.Short+".\n"), c.Use, flagHelp(defs))
	}
	_, err := io.WriteString(p.stdout, text)
	return err
}

// helpNames are the names of pages.
func helpNames(root *cobra.Command) []string {
	return slices.Concat([]string{allFlagsPage}, topics, commandNames(root))
}

func commandNames(root *cobra.Command) []string {
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

// passage is a paragraph or an entry of a list, under the title of its page.
type passage struct {
	topic, title, text string
	first              bool // of its page
}

// passages are those of all topics, and of the lists that no topic has.
func passages() (list []passage) {
	last := len(topics) - 1 // the glossary, which comes first
	for _, topic := range slices.Concat(topics[last:], topics[:last]) {
		title, text, _ := strings.Cut(page(topic), "\n")
		list = append(list, divide(topic, title, text)...)
	}
	list = append(list, divide("", "lock designs: lockbench list DRIVER says more", catalog.Designs())...)
	return append(list, divide("", "hazards: what lockbench prove makes happen", catalog.Hazards())...)
}

// example is a command in a list of them.
var example = regexp.MustCompile(`^ +([A-Z_]+=\S+ )*(lockbench|srun|mpirun|go run|benchstat) `)

// divide divides a text into passages. Examples are none.
func divide(topic, title, text string) (list []passage) {
	for block := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		lines := strings.Split(strings.Trim(block, "\n"), "\n")
		if strings.HasSuffix(lines[0], ":") && len(lines) > 1 { // the heading of a list
			lines = lines[1:]
		}
		isList := !slices.ContainsFunc(lines, func(line string) bool { return !strings.HasPrefix(line, " ") })
		for i, line := range lines {
			indented := strings.HasPrefix(line, "   ") || !isList && strings.HasPrefix(line, " ")
			switch {
			case isList && example.MatchString(line):
			case i == 0 || isList && !indented || !indented && strings.HasPrefix(lines[i-1], " "):
				list = append(list, passage{topic, title, line + "\n", list == nil})
			case len(list) > 0:
				list[len(list)-1].text += line + "\n"
			}
		}
	}
	return list
}

// topicWords returns the words that lead to a topic.
func topicWords(topic string) string {
	about, words, _ := helpText(topic)
	return topic + ", " + about + ", " + words
}

// helpWords are words that the help explains, to guess a misspelt one.
func helpWords() (words []string) {
	for _, topic := range topics {
		words = append(words, strings.FieldsFunc(topicWords(topic), func(r rune) bool { return strings.ContainsRune(" ,;:", r) })...)
	}
	for _, p := range passages() {
		if term, _, ok := strings.Cut(strings.TrimSpace(p.text), "  "); ok {
			words = append(words, term)
		}
	}
	return words
}

// The most that explain prints.
const (
	maxPassages = 4
	maxTopics   = 6
)

// explain returns the passages that begin with a word, or else those that have it, of the topics that it leads to or else of
// all, or else how those topics begin; and names the topics that have more. It is empty if the help has no such word.
func explain(word string) string {
	if strings.TrimSpace(word) == "" {
		return ""
	}
	all := passages()
	for _, end := range []string{`s?($|[^\pL\pN])`, ""} { // as a word, or else as the beginning of one
		has := regexp.MustCompile(`(?i)(^|[^\pL\pN])` + regexp.QuoteMeta(strings.TrimSuffix(word, "s")) + end)
		begins := regexp.MustCompile(`^[ *-]*` + has.String())
		var leads, others []string // topics
		for _, topic := range topics {
			if has.MatchString(topicWords(topic)) {
				leads = append(leads, topic)
			} else if has.MatchString(page(topic)) {
				others = append(others, topic)
			}
		}
		where := append(leads, others...)
		led := func(p passage) bool { return leads == nil || slices.Contains(leads, p.topic) }
		for _, fits := range []func(passage) bool{
			func(p passage) bool { return begins.MatchString(p.text) },
			func(p passage) bool { return has.MatchString(p.text) && led(p) },
			func(p passage) bool { return p.first && slices.Contains(where, p.topic) && led(p) },
		} {
			found := slices.DeleteFunc(slices.Clone(all), func(p passage) bool { return !fits(p) })
			if len(found) > 0 {
				return together(found[:min(len(found), maxPassages)], where[:min(len(where), maxTopics)])
			}
		}
	}
	return ""
}

// together returns passages under the titles of their pages, and names the topics that have more.
func together(found []passage, more []string) (text string) {
	title := ""
	for _, p := range found {
		if p.title != title {
			title = p.title
			text += title + "\n\n"
		}
		text += p.text + "\n"
	}
	if len(more) > 0 {
		text += "More: lockbench help " + strings.Join(more, ", ") + "\n"
	}
	return text
}
