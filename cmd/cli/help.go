// The help: what a user has to know, from the table of flags.

package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const helpIntro = `lockbench measures distributed locks: how fast and how safe each design is under your contention.

Usage:
  lockbench [run] FLAGS     measure one lock, or a matrix of them
  lockbench report FILE…    print the table of records that -o has written
  lockbench compare A B     what became of the figures of A's records in B's: the gate of a change
  lockbench history FILE…   each cell's figures over revisions, with steps and drifts
  lockbench clean           delete what a run that was killed has left on your server
  lockbench list            drivers, lock designs, ways of waiting, presets, servers that are here
  lockbench schema [NAME]   JSON schema of workload files, of records or of comparisons
  lockbench version         version of lockbench and of its client libraries
  lockbench completion SH   completion for bash, zsh, fish or powershell

Examples:
  lockbench -driver rueidis -clients 512 -keys 10
  lockbench -driver go-redis,rueidis -wait backoff,pubsub -clients 64,512 -trials 5 -o runs.jsonl
  lockbench -driver rueidis,zookeeper,etcd,mysql,postgres -durability relaxed,strict
  lockbench -lock set-nx,setnx -hold 5ms -addr redis://localhost:6379 -dry-run
  lockbench -driver rueidis -rate 1k,5k -arrival poisson -keys 100 -key-dist zipf:1.1 -hold exp:2ms
  lockbench -workload flash-sale -driver rueidis,etcd
  lockbench -clients 64 -trials 10 -vs '-wait queue' -fail-on 'locks/s<-5%'
  lockbench -clients 64 -trials 10 -baseline main.jsonl -revision "$(git rev-parse --short HEAD)"
  lockbench -driver null -clients 64         # what the harness itself costs
  lockbench report runs.jsonl
  lockbench compare -fail-on 'locks/s<-5%,acquire.p99>+10%' base.jsonl head.jsonl
`

const helpOutro = `
Flags take one dash or two, and -flag value or -flag=value. Those marked * are axes: they take a
comma list, and the run is the matrix of all lists. Combinations that make no sense are named and
skipped. Numbers may be written 10k or 1_000. Times have a unit: 250us, 1.5ms, 30s, 2m.

A file for -workload has these flags as fields, but for those under Server and Output: hold: 5ms,
and lists for axes: clients: [64, 512]. Under classes stand kinds of clients that differ, under
cells what each cell changes; workloads/example.yaml shows all of it, and -dry-run prints such a
file. A flag wins over a variable, that over the file, and that over the default.

Environment:
  LOCKBENCH_…         the default of any flag: LOCKBENCH_CLIENTS=512, LOCKBENCH_FLUSH_DELAY=100us
  LOCKBENCH_PASSWORD  the password at -addr; no flag takes it, since all users can read arguments
  REDIS_URL           your Redis, unless -addr or -server says otherwise
  NO_COLOR            if set, no colours

A server of yours is treated as production: keys begin with a prefix of this run alone and are
deleted by name; nothing is flushed or configured. If a run is killed, lockbench clean deletes
them. Without an address lockbench starts servers of its own, as far as their programs are
installed (see list), and stops them in the end.

Exit codes:
  0    fine
  1    error
  2    usage
  3    a comparison found a threshold missed
  4    mutual exclusion violated by a design that claims it
  5    a comparison was inconclusive
  130  interrupted; partial results written
`

// help writes the help of a command; nil and the root mean all of lockbench.
func (p *program) help(c *cobra.Command) error {
	var b strings.Builder
	if c == nil || !c.HasParent() || c.Name() == "run" {
		b.WriteString(helpIntro)
		writeFlags(&b, runFlags)
		b.WriteString(helpOutro)
	} else {
		text := c.Long
		if text == "" {
			text = c.Short + "."
		}
		fmt.Fprintf(&b, "%s\n\nUsage:\n  lockbench %s\n", text, c.Use)
		var defs []flagDef
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if opt, ok := f.Value.(*option); ok { // of this command: another's of that name may mean something else
				defs = append(defs, opt.flagDef)
			}
		})
		writeFlags(&b, defs)
	}
	_, err := io.WriteString(p.stdout, b.String())
	return err
}

// usageColumn is where the flags' descriptions begin.
const usageColumn = 26

// writeFlags writes the flags under their headings.
func writeFlags(b *strings.Builder, defs []flagDef) {
	group := ""
	for _, f := range defs {
		if f.group != group {
			group = f.group
			fmt.Fprintf(b, "\n%s:\n", group)
		}
		left := "  -" + f.name
		if f.axis {
			left = " *-" + f.name
		}
		if f.short != "" {
			left = "  -" + f.short + ", -" + f.name
		}
		if f.value != "" {
			left += " " + f.value
		}
		text := f.usage
		if f.def != "" && !f.isSwitch() && !strings.Contains(text, "(default") {
			text += " (default " + f.def + ")"
		}
		text = strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", usageColumn))
		fmt.Fprintf(b, "%-*s%s\n", usageColumn, left, text)
	}
}

// helpCommand makes lockbench help [COMMAND].
func (p *program) helpCommand(root *cobra.Command) *cobra.Command {
	c, _ := p.command(&cobra.Command{Use: "help [COMMAND]", Short: "Print the help of lockbench or of a command", Hidden: true}, nil)
	c.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return p.help(nil)
		}
		found, _, err := root.Find(args)
		if err != nil || found == root {
			return root.Args(root, args)
		}
		return p.help(found)
	}
	return c
}
