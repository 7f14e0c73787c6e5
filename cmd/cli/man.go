// lockbench man: the help as man pages, for packages.

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/machine"
)

func (p *program) manCommand(root *cobra.Command) *cobra.Command {
	return p.command(&cobra.Command{
		Use:    "man DIRECTORY",
		Short:  "Write the man pages into a directory",
		Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageErrorf("man: into which directory? lockbench man .")
			}
			return nil
		},
	}, nil, func(_ *cobra.Command, _ *options, args []string) error {
		pages := map[string]string{"lockbench": frontManPage(root)}
		for _, c := range root.Commands() {
			if !c.Hidden && c.Name() != "run" { // run is on the first page
				pages["lockbench-"+c.Name()] = manPage(c.Short, c.Use, "DESCRIPTION", commandPage(c.Name()), "OPTIONS", flagText(c), "SEE ALSO", "lockbench(1)")
			}
		}
		for name, text := range pages {
			// Without hyphens in names, which people copy and search for.
			head := fmt.Sprintf(".TH %s 1 \"\" \"lockbench %s\"\n.nh\n.SH NAME\n%s \\- ", strings.ToUpper(name), machine.Env().Lockbench, name)
			if err := os.WriteFile(filepath.Join(args[0], name+".1"), []byte(head+text), 0o666); err != nil {
				return err
			}
		}
		return nil
	})
}

// frontManPage has what the front page of the help has, and all flags of a run.
func frontManPage(root *cobra.Command) string {
	about, rest, _ := strings.Cut(page(frontPage), "\n\n")
	examples, _, _ := strings.Cut(rest, "\n\n")
	var commands, list, also strings.Builder
	for _, name := range commandNames(root) {
		c, _, _ := root.Find([]string{name})
		fmt.Fprintf(&commands, "  %s  %s\n", c.Use, c.Short)
		if name != "run" {
			fmt.Fprintf(&also, "lockbench-%s(1) ", name)
		}
	}
	for _, name := range topics {
		about, _, _ := strings.Cut(helpText(name), "\n")
		fmt.Fprintf(&list, "  %s  %s\n", name, about)
	}
	_, examples, _ = strings.Cut(examples, ":\n")
	_, variables, _ := strings.Cut(page("environment"), "\n\n")
	return manPage("measure distributed locks", "FLAGS | COMMAND", "DESCRIPTION", about, "EXAMPLES", examples, "COMMANDS", commands.String(),
		"OPTIONS", page(allFlagsPage), "TOPICS", "lockbench help TOPIC prints a page on each:\n\n"+list.String(),
		"EXIT STATUS", strings.TrimPrefix(exitCodes, "Exit codes: "), "ENVIRONMENT", variables, "SEE ALSO", also.String())
}

// manPage returns a page from what it is about on: with the sections given by their headings and texts.
func manPage(about, use string, sections ...string) string {
	text := roffEscape(about) + "\n.SH SYNOPSIS\n.B lockbench " + roffEscape(use) + "\n"
	for s := range slices.Chunk(sections, 2) {
		if s[1] != "" {
			text += ".SH " + s[0] + "\n" + roff(s[1])
		}
	}
	return text
}

var (
	manHeading = regexp.MustCompile(`^(\S.*):$`)
	manRow     = regexp.MustCompile(`^ ([ *]-.{22}|[ *]\S.*? ) +(\S.*)$`) // a flag, up to usageColumn, or the like, and its meaning
	manMore    = regexp.MustCompile(`^ {6,}(\S.*)$`)                      // the next line of that
)

// roff returns a text of the help in the language of man pages: headings, rows and prose become what they are, and other
// indented lines stay lines.
func roff(text string) string {
	var b strings.Builder
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	kept, inRow := false, false
	keep := func(on bool) {
		if on != kept {
			b.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[on])
		}
		kept = on
	}
	for i, line := range lines {
		indented := i+1 < len(lines) && strings.HasPrefix(lines[i+1], " ")
		row, more, heading := manRow.FindStringSubmatch(line), manMore.FindStringSubmatch(line), manHeading.FindStringSubmatch(line)
		switch {
		case line == "":
			keep(false)
			b.WriteString(".PP\n")
			inRow = false
		case row != nil:
			keep(false)
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", roffEscape(strings.TrimSpace(row[1])), roffEscape(row[2]))
			inRow = true
		case inRow && more != nil:
			b.WriteString(roffEscape(more[1]) + "\n")
		case heading != nil && indented:
			keep(false)
			b.WriteString(".SS " + roffEscape(heading[1]) + "\n")
		default:
			keep(strings.HasPrefix(line, " "))
			b.WriteString(roffEscape(line) + "\n")
			inRow = false
		}
	}
	keep(false)
	return b.String()
}

// roffEscape returns a line that means itself there. A hyphen and some quotes would become typographic ones, which no shell
// understands.
func roffEscape(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(line)
	if strings.HasPrefix(line, ".") {
		line = `\&` + line
	}
	return line
}
