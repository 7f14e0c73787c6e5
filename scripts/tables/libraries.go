// The table of lock libraries.

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/results/spec"
)

// libraryRows are the drivers that have a row, and what their libraries are called in records.
var libraryRows = []struct{ driver, library string }{
	{"redislock", "github.com/bsm/redislock"},
	{"redsync", "github.com/go-redsync/redsync/v4"},
	{"rueidislock", "github.com/redis/rueidis"},
	{"node-redlock", "redlock"},
	{"sesamecare-redlock", "@sesamecare-oss/redlock"},
	{"redis-semaphore", "redis-semaphore"},
	{"redis-py", "redis-py"},
	{"kazoo", "kazoo"},
	{"curator", "curator-recipes"},
}

// libraryLoads are what each is asked for.
var libraryLoads = []string{"keys=1 hold=0s", "keys=1 hold=1ms", "keys=10 hold=0s", "keys=10 hold=1ms"}

// libraries returns a row for each library: its figures under each load, and what it fails in the proof that words name.
func (d *document) libraries(names, proof string) ([]byte, error) {
	recs, err := loadAll(d.dir, names)
	if err != nil {
		return nil, err
	}
	r, err := read(d.path(proof), safety.Read)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	var last, all []*results.Cell
	starved := false
	for _, of := range libraryRows {
		texts, violations := []string{of.driver, ""}, int64(0)
		var c *results.Cell
		for _, load := range libraryLoads {
			if c, err = cell(recs, "driver="+of.driver+" "+load); err != nil {
				return nil, err
			}
			rate := rateOf(c)
			if c.Fairness.Starved > 0 {
				rate, starved = rate+"†", true
			}
			texts = append(texts, rate+" · "+formatted(c, "acquire.p99"))
			violations += c.Safety.Violations
			all = append(all, c)
		}
		env := c.First().Env
		texts[1] = strings.TrimPrefix(cmp.Or(env.Libraries[of.library], "?"), "v")
		if !strings.Contains(texts[1], " on ") {
			texts[1] += strings.Replace(env.Go, "go", " on Go ", 1)
		}
		last = append(last, c)
		rows = append(rows, append(texts, formatted(c, "jain"), formatted(c, "commands/lock"), format.Count(violations), fails(r, c.Plan())))
	}
	about := "Under each load locks/s and the p99 of the wait; Jain and commands with 10 keys held for 1 ms. " + uncertainty(all)
	if starved {
		about += " `†`: clients that got no lock, whose waits are in no p99."
	}
	return []byte("| library | version | 1 key | 1 key, held 1 ms | 10 keys | 10 keys, held 1 ms | Jain | commands/lock | violations | fails |\n" +
		"|:--|:--|--:|--:|--:|--:|--:|--:|--:|:--|\n" + ranked(rows, last) + "\n" + about + "\n"), nil
}

// fails lists the hazards that the lock of a plan was seen to fail, and of every-gap at how many requests. Another design of its
// driver is one that users have to ask for.
func fails(r *safety.Report, p *spec.Plan) string {
	var list []string
	for i := range r.Cells {
		c := &r.Cells[i]
		if name, _, _ := strings.Cut(c.Driver, "@"); name != p.Driver || c.Lock != p.Lock || c.Verdict != safety.Fails || c.Control {
			continue
		}
		text := c.Hazard
		if c.Gaps > 0 {
			text += fmt.Sprintf(" (%d of %s)", len(c.LostAt), format.Plural(c.Gaps, "gap"))
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return cmp.Or(strings.Join(slices.Compact(list), ", "), format.None)
}
