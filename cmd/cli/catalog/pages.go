// The pages of lockbench list, as documents.

package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
)

// Document returns the page of a name, and that of all for the empty one.
func (l Listing) Document(name string) *report.Document {
	d := &report.Document{Kind: "lockbench list"}
	_, isPreset := presets.Find(name)
	adapter := slices.IndexFunc(l.Adapters, func(a Adapter) bool { return a.Driver == name })
	hazard := slices.IndexFunc(l.Hazards, func(h Hazard) bool { return string(h.Hazard) == name })
	switch {
	case name == "":
		d.Title, d.Blocks = "Drivers and their locks", l.overview()
	case slices.ContainsFunc(l.Drivers, func(d Driver) bool { return d.Driver == name }):
		l.story(d, name)
	case adapter >= 0:
		a := l.Adapters[adapter]
		d.Title, d.Blocks = name+": "+adapterAbout(a.Language, a.Library, a.Service), []report.Block{
			report.Facts{fact("here", a.Text+strings.TrimSuffix(": "+a.Install, ": "))}, note("lockbench conformance -driver " + name + " starts it, and tests what it claims.")}
	case isPreset:
		text, _ := presets.Find(name)
		d.Title = "The preset " + name
		d.Blocks = []report.Block{report.Code(text), report.Paragraph{Text: format.Glue("Run it: lockbench -workload " + name + " -driver rueidis"), Note: true}}
	case name == "waits":
		d.Title, d.Blocks = "Ways of waiting", []report.Block{factsOf(l.Waits)}
	case name == "presets":
		d.Title, d.Blocks = "Presets", []report.Block{factsOf(l.Presets), note("lockbench list PRESET prints one; lockbench help workloads says how to change it.")}
	case name == "servers":
		d.Title, d.Blocks = "Servers", []report.Block{l.servers(), note("lockbench help servers says more about each.")}
	case name == "hazards":
		d.Title, d.Blocks = "Hazards", []report.Block{factsOf(l.Hazards), note("What happens, and after the colon how a design loses to it; lockbench list HAZARD says which designs do.")}
	case hazard >= 0:
		d.Title, d.Blocks = "The hazard "+name, l.Hazards[hazard].page()
	case slices.Contains(matrix.Names("lock"), name):
		d.Title, d.Blocks = "The lock design "+name, l.lock(name)
	default: // a service
		of := slices.DeleteFunc(slices.Clone(l.Drivers), func(d Driver) bool { return d.Service != name })
		d.Title, d.Blocks = "Drivers for "+name, []report.Block{l.table(of), note("lockbench list DRIVER tells the whole story of one.")}
	}
	return d
}

func fact(label, text string) report.Fact { return report.Fact{Label: label, Lines: []string{text}} }

// factsOf returns entries, each with its name as the label.
func factsOf[T interface{ fact() report.Fact }](entries []T) (facts report.Facts) {
	for _, e := range entries {
		facts = append(facts, e.fact())
	}
	return facts
}

func note(text string) report.Block { return report.Paragraph{Text: text, Note: true} }

// overview lists all drivers with their designs, and the names of the rest.
func (l Listing) overview() []report.Block {
	blocks := []report.Block{l.table(l.Drivers), report.Section{Title: "Locks of other languages", Blocks: []report.Block{l.adapters()}}}
	if missing := l.install(); missing != nil {
		blocks = append(blocks, report.Section{Title: "To install what is not here", Blocks: []report.Block{missing}})
	}
	return append(blocks,
		report.Section{Title: "Ways of waiting (-wait)", Blocks: []report.Block{report.Paragraph{Text: strings.Join(matrix.Choices("wait"), ", ")}}},
		report.Section{Title: "Presets (-workload)", Blocks: []report.Block{report.Paragraph{Text: strings.Join(presets.Names(), ", ")}}},
		note("lockbench list DRIVER tells the whole story of one: server, address, claims, what is wrong with it."),
		note("lockbench list LOCK, list PRESET, list HAZARD, list waits, list presets, list servers and list hazards explain the others."))
}

// table has a row for each of some drivers.
func (l Listing) table(list []Driver) report.Table {
	t := report.Table{Caption: "Drivers", Columns: []report.Column{
		{Title: "driver", Left: true}, {Title: "service", Left: true}, {Title: "server here", Left: true}, {Title: "lock designs, the default first", Left: true, Wrap: true},
	}}
	for _, d := range list {
		var names []string
		for _, lock := range l.locks(d.Driver) {
			names = append(names, lock.Lock)
		}
		t.Rows = append(t.Rows, report.Row{Cells: []report.Value{{Text: d.Driver}, {Text: cmp.Or(d.Service, format.None)}, {Text: d.Text}, {Text: strings.Join(names, ", ")}}})
	}
	return t
}

// adapters has a row for each adapter.
func (l Listing) adapters() report.Table {
	t := report.Table{Caption: "Locks of other languages", Columns: []report.Column{
		{Title: "driver", Left: true}, {Title: "service", Left: true}, {Title: "language", Left: true}, {Title: "library", Left: true}, {Title: "here", Left: true, Wrap: true},
	}}
	for _, a := range l.Adapters {
		t.Rows = append(t.Rows, report.Row{Cells: []report.Value{
			{Text: a.Driver}, {Text: cmp.Or(a.Service, format.None)}, {Text: a.Language}, {Text: cmp.Or(a.Library, "none")}, {Text: a.Text}}})
	}
	return t
}

// story tells all about a driver.
func (l Listing) story(d *report.Document, name string) {
	of := l.Drivers[slices.IndexFunc(l.Drivers, func(d Driver) bool { return d.Driver == name })]
	own := l.locks(name)
	sameConns := !slices.ContainsFunc(own, func(o Lock) bool { return o.Connections != own[0].Connections })
	var facts report.Facts
	add := func(title, text string) {
		if text != "" {
			facts = append(facts, fact(title, text))
		}
	}
	if library := matrix.Library(name); library.Version != "" {
		add("library", cmp.Or(of.Library, library.Module)+" "+library.Version)
	} else {
		add("library", of.Library)
	}
	d.Title = name + ": a driver that needs no server"
	if of.Service != "" {
		d.Title = name + ": a driver for " + of.Service
		here := of.Text
		if of.Install != "" {
			here += "; " + of.Install
		}
		add("server here", here)
		add("address", strings.Join(of.Addresses, " · "))
		add("topologies", strings.Join(of.Topologies, ", "))
		if sameConns {
			add("connections", connections(own[0].Connections, of))
		}
	}
	add("first run", firstRun(of))
	d.Blocks = []report.Block{facts}
	for _, lock := range own {
		title := lock.Lock
		if lock.Default {
			title += " (the default)"
		}
		s := report.Section{ID: lock.Lock, Title: title, Blocks: []report.Block{designFacts(lock)}}
		if !sameConns && of.Service != "" {
			s.Blocks = append(s.Blocks, report.Facts{fact("connections", connections(lock.Connections, of))})
		}
		d.Blocks = append(d.Blocks, s)
	}
	var params report.Facts
	for _, v := range l.Params {
		if v.Driver == name {
			params = append(params, fact(v.Param+"="+v.Default, v.Text))
		}
	}
	if params != nil {
		d.Blocks = append(d.Blocks, report.Section{ID: "options", Title: "Options of the library (-param NAME=VALUE), with their defaults", Blocks: []report.Block{params}})
	}
	d.Blocks = append(d.Blocks, claims(own)...)
}

// connections says how many connections the clients open, and what limits them.
func connections(n int, d Driver) string {
	text := fmt.Sprintf("%d for %d clients", n, clients)
	if n == clients {
		text = "one per client"
	}
	if d.Limit != "" {
		text += "; the server's limit is " + d.Limit
	}
	return text
}

func firstRun(d Driver) string {
	name := d.Driver
	if strings.Contains(name, " ") { // a command
		name = "'" + name + "'"
	}
	text := "lockbench -driver " + name + " -clients 64 -keys 10"
	if !d.Available {
		text += " -addr " + append(slices.Clone(d.Addresses), "host:port")[0]
	}
	return format.Glue(text)
}

// designFacts returns what is known of a design.
func designFacts(lock Lock) report.Facts {
	facts := report.Facts{fact("claims", Claims(lock.Traits))}
	if lock.Models != "" {
		facts = append(facts, fact("imitates", lock.Models))
	}
	if lock.Wrong != "" {
		facts = append(facts, fact("wrong", lock.Wrong))
	}
	if lock.Loses != nil {
		names := make([]string, len(lock.Loses))
		for i, h := range lock.Loses {
			names[i] = string(h)
		}
		facts = append(facts, fact("loses to", strings.Join(names, ", ")+" (lockbench list HAZARD)"))
	}
	return append(facts, fact("-wait", strings.Join(lock.Waits, ", ")))
}

// claims explains the claims of some designs.
func claims(locks []Lock) []report.Block {
	claimed := slices.DeleteFunc(slices.Clone(Claimed), func(c Claim) bool {
		return !slices.ContainsFunc(locks, func(l Lock) bool { return c.Has(l.Traits) })
	})
	if len(claimed) == 0 {
		return nil
	}
	return []report.Block{report.Section{ID: "claims", Title: "What the claims mean", Blocks: []report.Block{factsOf(claimed)}}}
}

// lock tells about a design, for each kind of driver that has it.
func (l Listing) lock(name string) (blocks []report.Block) {
	var all []Lock
	for _, lock := range l.Locks {
		if lock.Lock != name {
			continue
		}
		same := slices.IndexFunc(all, func(o Lock) bool { return o.Models == lock.Models })
		if same < 0 {
			all = append(all, lock)
		} else {
			all[same].Driver += ", " + lock.Driver
		}
	}
	for _, lock := range all {
		blocks = append(blocks, report.Section{ID: lock.Driver, Title: name + " of " + lock.Driver, Blocks: []report.Block{designFacts(lock)}})
	}
	return append(blocks, claims(all)...)
}

func (l Listing) servers() (facts report.Facts) {
	for _, s := range l.Servers {
		text := s.Text
		if !s.Available {
			text = "not here: " + text
		}
		facts = append(facts, fact(s.Server+" "+s.Service, text))
	}
	for _, s := range servers.Services() {
		text := "-addr " + s.Example()
		if s.Variable != "" {
			text += ", or " + s.Variable
		}
		facts = append(facts, fact(matrix.External+" "+s.Name, text))
	}
	return facts
}
