// -dry-run: the plan, for people.

package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/render"
)

// print writes the whole plan.
func (p plan) print(w io.Writer) error {
	var b strings.Builder
	for _, line := range p.targets.lines() {
		fmt.Fprintf(&b, "server: %s\n", line)
	}
	fmt.Fprintf(&b, "%s, %s of each, at least %s\n", render.Many(int64(len(p.cells)), "cell"), render.Many(int64(p.trials), "trial"), seconds(p.length(0)))
	for i, c := range p.cells {
		fmt.Fprintf(&b, "\ncell %d: %s\n", i+1, c.plan.Command)
		fmt.Fprintf(&b, "  %s %s -wait %s: %s, %s, hold %v, think %v, TTL %v", c.plan.Driver, c.plan.Lock, c.plan.Wait,
			render.Many(int64(c.plan.Clients), "client"), render.Many(int64(c.plan.Keys), "key"), c.plan.Hold, c.plan.Think, c.plan.TTL)
		if c.plan.Handover != "" {
			fmt.Fprintf(&b, ", hand-over by %s", c.plan.Handover)
		}
		if c.plan.Lockers > 0 {
			fmt.Fprintf(&b, ", %d lockers", c.plan.Lockers)
		}
		if c.plan.Timeout > 0 {
			fmt.Fprintf(&b, ", patience %v", c.plan.Timeout)
		}
		if c.plan.Renew {
			fmt.Fprintf(&b, ", renewed every %v", (c.plan.TTL / 3).Round(time.Microsecond))
		}
		if c.plan.Reentry > 1 {
			fmt.Fprintf(&b, ", entered %d times", c.plan.Reentry)
		}
		fmt.Fprintf(&b, "\n  %v after a warm-up of %v, %s\n", c.plan.Duration, c.plan.Warmup, where(c.plan))
		for _, text := range c.warnings {
			fmt.Fprintf(&b, "  warning: %s\n", text)
		}
	}
	for i, s := range p.skipped {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "skipped: %v\n", s)
	}
	if len(p.order) > 1 {
		fmt.Fprintf(&b, "\norder of the cells: %s\n", p.orderText())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func where(c results.Plan) string {
	switch serverKind(c.Server) {
	case private:
		text := "on a private server"
		if c.Topology != "" {
			text = "on private servers, " + deploymentOf(c).String()
		}
		if c.Durability == string(servers.Strict) {
			text += ", each change fsynced"
		}
		return text
	case inProcess:
		return "without a server"
	}
	return "on an " + c.Server + " server"
}

// orderText writes the cells in the order in which they run, the rounds set apart.
func (p plan) orderText() string {
	var rounds []string
	for first := 0; first < len(p.order); first += len(p.cells) {
		var cells []string
		for _, t := range p.order[first : first+len(p.cells)] {
			cells = append(cells, fmt.Sprint(t.cell+1))
		}
		rounds = append(rounds, strings.Join(cells, " "))
	}
	return strings.Join(rounds, " | ")
}
