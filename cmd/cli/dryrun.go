// -dry-run: the plan as a workload that makes it again, with what people want to know beside it as comments.

package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/cmd/cli/deploy"
	"github.com/lockbench/lockbench/cmd/cli/progress"
	"github.com/lockbench/lockbench/cmd/cli/shell"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/file"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// print writes the whole plan. What is skipped stands in comments alone, so it is gone when the plan is read again.
func (p plan) print(w io.Writer) error {
	var b strings.Builder
	base, head := p, plan{}
	if len(p.sides) > 0 {
		base, head = p.sides[0].plan, p.sides[1].plan
	}
	p.printServers(&b)
	fmt.Fprintf(&b, "# %s, %s of each, at least %s\n", p.size(), format.Plural(p.Trials, "trial"), progress.Seconds(p.Length(0)))
	if len(p.Order) > 1 {
		fmt.Fprintf(&b, "# order of the cells: %s\n", p.orderText())
	}
	for _, s := range p.Skipped {
		fmt.Fprintf(&b, "# skipped: %s\n", oneLine(s.String()))
	}
	if len(p.sides) > 0 {
		fmt.Fprintf(&b, "# This is the base; for the head give -vs %s again.\n", oneLine(shell.Quote(p.vsAgain())))
	}
	b.WriteString("\n")
	base.printBody(&b, head)
	_, err := io.WriteString(w, b.String())
	return err
}

// printServers writes where the cells run, and if the sides differ in that, which of them where.
func (p plan) printServers(b *strings.Builder) {
	lines := p.targets.Lines()
	if len(p.sides) > 0 {
		head := p.sides[1].plan.targets.Lines()
		if !slices.Equal(lines, head) {
			for i := range lines {
				lines[i] = p.sides[0].name + ": " + lines[i]
			}
			for _, line := range head {
				lines = append(lines, p.sides[1].name+": "+line)
			}
		}
	}
	for _, line := range lines {
		fmt.Fprintf(b, "# server: %s\n", oneLine(line))
	}
}

// vsAgain returns the -vs that makes the head from the workload that is printed, which spells out the base's lock, its way of
// waiting and its topology: if the head chooses others by itself, the output says so.
func (p plan) vsAgain() string {
	text := p.vsText()
	names := []string{"lock", "wait"}
	if !slices.Contains(p.sides[1].plan.options.namesTopology(), true) {
		names = append(names, "topology")
	}
	for _, name := range names {
		opt := p.sides[1].plan.options.get(name)
		mine, differ := settings(p.Cells[1].Plan)[name], false
		for i := 0; i < len(p.Cells); i += 2 {
			if settings(p.Cells[i+1].Plan)[name] != mine {
				mine = ""
			}
			differ = differ || settings(p.Cells[i].Plan)[name] != mine
		}
		if differ && mine != "" && opt.from != fromFlag {
			text += " " + opt.assign(mine)
		}
	}
	return strings.TrimSpace(text)
}

// size returns how many cells there are, or pairs of them.
func (p plan) size() string {
	if len(p.sides) > 0 {
		return format.Plural(int64(len(p.Cells)/2), "pair") + " of cells"
	}
	return format.Plural(len(p.Cells), "cell")
}

// printBody writes the workload. What the head makes of a cell stands beside it, if there is a head.
func (p plan) printBody(b *strings.Builder, head plan) {
	w := p.split()
	if len(p.Cells) == 1 {
		for _, line := range p.notes(0, head) {
			fmt.Fprintf(b, "# %s\n", line)
		}
	} else {
		for i := range w.Cells {
			w.Cells[i].Notes = p.notes(i, head)
		}
	}
	b.WriteString(w.String())
}

// alwaysShown are the fields that a plan shows though they have their default values.
var alwaysShown = []string{"driver", "lock", "wait", "clients", "keys", "hold", "ttl", "duration", "warmup"}

// split returns a workload with the values that all cells have in common at its top, and those of each in its cells. A value may
// stand at the top though some cells do not read it.
func (p plan) split() *file.Workload {
	w := &file.Workload{}
	if from := p.options.workload; from != nil {
		w.Name, w.About, w.SLO, w.Classes = from.Name, from.About, from.SLO, p.classes()
	}
	if len(p.Cells) > 1 {
		w.Cells = make([]file.Cell, len(p.Cells))
	}
	values := make([]map[string]string, len(p.Cells))
	for i, c := range p.Cells {
		values[i] = settings(c.Plan)
		values[i]["clients"] = strconv.Itoa(c.Load.Clients)
	}
	for _, opt := range p.options.list {
		if !opt.inWorkload() || slices.Contains(ofTheRun, opt.name) {
			continue
		}
		text, common := inCommon(values, opt.name)
		shown := slices.Contains(alwaysShown, opt.name) || !opt.usual(p.Cells[0].Plan, text)
		switch {
		case p.options.workload.overridden(opt.name):
		case !common:
			for i, v := range values {
				if text := v[opt.name]; text != "" {
					w.Cells[i].Add(opt.name, text)
				}
			}
		case text != "" && shown:
			w.Top.Add(opt.name, text)
		}
	}
	w.Top.Add("trials", strconv.Itoa(p.Trials))
	w.Top.Add("seed", strconv.FormatUint(p.Cells[0].Plan.Seed, 10))
	return w
}

// inCommon returns the value that a field has wherever it is read. The lack of one is a value of -param, and of
// -duration where -n stands for it.
func inCommon(values []map[string]string, name string) (text string, common bool) {
	found := false
	for _, v := range values {
		one := v[name]
		switch {
		case one == "" && name != "param" && name != "duration":
		case found && one != text:
			return "", false
		default:
			text, found = one, true
		}
	}
	return text, true
}

// classes returns those of the workload with what each sets for itself, in the canonical spelling.
func (p plan) classes() (list []file.Class) {
	for _, c := range p.options.workload.Classes {
		load, err := p.options.classLoad(c, spec.Load{})
		if err != nil {
			continue // planOf has read it
		}
		values, own := loadSettings(load), file.Class{Name: c.Name}
		for _, flag := range ofAClass {
			if c.Find(flag) != nil {
				own.Add(flag, values[flag])
			}
		}
		list = append(list, own)
	}
	return list
}

// notes returns what there is to say about a cell, and about the head's if there is one.
func (p plan) notes(i int, head plan) []string {
	number := ""
	if len(p.Cells) > 1 {
		number = fmt.Sprintf("cell %d: ", i+1)
	}
	lines := cellNotes(p.Cells[i], number, "  ")
	if i < len(head.Cells) {
		lines = append(lines, cellNotes(head.Cells[i], "  head: ", "    ")...)
	}
	return lines
}

func cellNotes(c matrix.Cell, first, more string) []string {
	notes := []string{fmt.Sprintf("%s %s -wait %s", c.Plan.Driver, c.Plan.Lock, c.Plan.Wait), where(c.Plan)}
	if n := len(c.Plan.Classes); n > 0 {
		notes = append(notes, format.Plural(c.Plan.Clients, "client")+" in "+classes(n))
	}
	if c.Plan.Renew {
		notes = append(notes, fmt.Sprintf("renewed every %v", (c.Plan.TTL/3).Round(time.Microsecond)))
	}
	lines := []string{first + oneLine(c.Plan.Command), more + strings.Join(notes, ", ")}
	for _, text := range warnings(c) {
		lines = append(lines, more+"warning: "+oneLine(text))
	}
	return lines
}

func classes(n int) string {
	if n == 1 {
		return "one class"
	}
	return fmt.Sprintf("%d classes", n)
}

func where(c spec.Plan) string {
	switch c.Server {
	case matrix.Private:
		text := "on a private server"
		if c.Topology != "" {
			text = "on private servers, " + deploy.Deployment(c)
		}
		if c.Durability == string(servers.Strict) {
			text += ", each change fsynced"
		}
		return text
	case matrix.InProcess:
		return "without a server"
	}
	return "on an " + c.Server + " server"
}

// orderText writes the cells in the order in which they run, the rounds set apart: 2h is the head of the second pair.
func (p plan) orderText() string {
	var rounds []string
	for first := 0; first < len(p.Order); first += len(p.Cells) {
		var cells []string
		for _, t := range p.Order[first : first+len(p.Cells)] {
			if len(p.sides) == 0 {
				cells = append(cells, fmt.Sprint(t.Cell+1))
				continue
			}
			c := p.Cells[t.Cell]
			cells = append(cells, fmt.Sprintf("%d%c", c.Pair+1, c.Side[0]))
		}
		rounds = append(rounds, strings.Join(cells, " "))
	}
	return strings.Join(rounds, " | ")
}
