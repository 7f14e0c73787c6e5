// The pages of lockbench list.

package catalog

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
)

// Write writes the page of a name, and that of all for the empty one.
func (l Listing) Write(w io.Writer, name string) error {
	text := ""
	switch _, isPreset := presets.Find(name); {
	case name == "":
		text = l.overview()
	case slices.Contains(drivers.Names(), name):
		text = l.story(name)
	case isPreset:
		text = presetPage(name)
	case name == "waits":
		text = Waits()
	case name == "presets":
		text = Presets() + "\nlockbench list PRESET prints one; lockbench help workloads says how to change it.\n"
	case name == "servers":
		text = l.serverPage()
	case name == "hazards":
		text = l.hazardPage()
	case slices.Contains(matrix.Names("lock"), name):
		text = l.lockPage(name)
	default:
		text = l.servicePage(name)
	}
	_, err := io.WriteString(w, text)
	return err
}

// overview lists all drivers with their designs, and the names of the rest.
func (l Listing) overview() string {
	return Lines(func(b *strings.Builder) {
		l.driverTable(b, l.Drivers)
		if missing := l.install(); missing != nil {
			fmt.Fprintf(b, "\nTo install servers that are not here:\n%s", Table(missing))
		}
		var waits, names []string
		for _, k := range l.Waits {
			waits = append(waits, k.Wait)
		}
		for _, p := range l.Presets {
			names = append(names, p.Preset)
		}
		b.WriteByte('\n')
		for _, r := range [][2]string{{"Ways of waiting (-wait):  ", strings.Join(waits, ", ")}, {"Presets (-workload):      ", strings.Join(names, ", ")}} {
			b.WriteString(strings.Join(format.Wrap(r[0], r[1], Width), "\n") + "\n")
		}
		b.WriteString(`
lockbench list DRIVER tells the whole story of one: server, address, claims, what is wrong with it.
lockbench list LOCK, list PRESET, list waits, list presets, list servers and list hazards explain the others.
`)
	})
}

// driverTable writes a row for each of some drivers.
func (l Listing) driverTable(b *strings.Builder, list []Driver) {
	widths := [3]int{len("DRIVER"), len("SERVICE"), len("SERVER HERE")}
	row := func(cells [3]string, designs string) {
		head := ""
		for i, c := range cells {
			head += fmt.Sprintf("%-*s  ", widths[i], c)
		}
		b.WriteString(strings.Join(format.Wrap(head, designs, Width), "\n") + "\n")
	}
	cells := func(d Driver) [3]string { return [3]string{d.Driver, cmp.Or(d.Service, format.None), d.Text} }
	for _, d := range list {
		for i, c := range cells(d) {
			widths[i] = max(widths[i], len([]rune(c)))
		}
	}
	row([3]string{"DRIVER", "SERVICE", "SERVER HERE"}, "LOCK DESIGNS, THE DEFAULT FIRST")
	for _, d := range list {
		var names []string
		for _, lock := range l.locks(d.Driver) {
			names = append(names, lock.Lock)
		}
		row(cells(d), strings.Join(names, ", "))
	}
}

// story tells all about a driver.
func (l Listing) story(name string) string {
	d := l.Drivers[slices.IndexFunc(l.Drivers, func(d Driver) bool { return d.Driver == name })]
	own := l.locks(name)
	sameConns := !slices.ContainsFunc(own, func(o Lock) bool { return o.Connections != own[0].Connections })
	return Lines(func(b *strings.Builder) {
		var rows [][2]string
		row := func(title, text string) {
			if text != "" {
				rows = append(rows, [2]string{title, text})
			}
		}
		row("library", d.Library)
		if d.Service == "" {
			fmt.Fprintf(b, "%s: in this process, without a server\n\n", name)
		} else {
			fmt.Fprintf(b, "%s: a driver for %s\n\n", name, d.Service)
			here := d.Text
			if d.Install != "" {
				here += "; " + d.Install
			}
			row("server here", here)
			row("address", strings.Join(d.Addresses, " · "))
			row("topologies", strings.Join(d.Topologies, ", "))
			if sameConns {
				row("connections", connections(own[0].Connections, d))
			}
		}
		row("first run", firstRun(d))
		b.WriteString(Table(rows))
		for _, lock := range own {
			writeLock(b, lock, d, !sameConns)
		}
		l.writeParams(b, name)
		writeClaims(b, own)
	})
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
	text := "lockbench -driver " + d.Driver + " -clients 64 -keys 10"
	if !d.Available {
		text += " -addr " + append(slices.Clone(d.Addresses), "host:port")[0]
	}
	return format.Glue(text)
}

// writeLock writes what is known of a design.
func writeLock(b *strings.Builder, lock Lock, d Driver, conns bool) {
	fmt.Fprintf(b, "\n%s", lock.Lock)
	if lock.Default {
		b.WriteString(" (the default)")
	}
	b.WriteByte('\n')
	rows := [][2]string{{"claims", Claims(lock.Traits)}, {"imitates", lock.Models}}
	if lock.Wrong != "" {
		rows = append(rows, [2]string{"wrong", lock.Wrong})
	}
	if lock.Loses != nil {
		rows = append(rows, [2]string{"loses to", hazardNames(lock.Loses) + " (lockbench list hazards)"})
	}
	rows = append(rows, [2]string{"-wait", strings.Join(lock.Waits, ", ")})
	if conns && d.Service != "" {
		rows = append(rows, [2]string{"connections", connections(lock.Connections, d)})
	}
	b.WriteString(Table(rows))
}

func hazardNames(hazards []drivers.Hazard) string {
	names := make([]string, len(hazards))
	for i, h := range hazards {
		names[i] = string(h)
	}
	return strings.Join(names, ", ")
}

// writeParams writes the options of a driver's library.
func (l Listing) writeParams(b *strings.Builder, driver string) {
	var rows [][2]string
	for _, v := range l.Params {
		if v.Driver == driver {
			rows = append(rows, [2]string{v.Param + "=" + v.Default, v.Text})
		}
	}
	if rows != nil {
		fmt.Fprintf(b, "\nOptions of the library (-param NAME=VALUE), with their defaults\n%s", Table(rows))
	}
}

// writeClaims explains the claims of some designs.
func writeClaims(b *strings.Builder, locks []Lock) {
	var rows [][2]string
	for _, c := range Claimed {
		if slices.ContainsFunc(locks, func(l Lock) bool { return c.Has(l.Traits) }) {
			rows = append(rows, [2]string{c.Name, c.Means})
		}
	}
	if rows != nil {
		fmt.Fprintf(b, "\nWhat the claims mean\n%s", Table(rows))
	}
}

// lockPage tells about a design, for each kind of driver that has it.
func (l Listing) lockPage(name string) string {
	return Lines(func(b *strings.Builder) {
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
		for i, lock := range all {
			if i > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(b, "%s of %s", name, lock.Driver)
			lock.Lock, lock.Default = "", false
			writeLock(b, lock, Driver{}, false)
		}
		writeClaims(b, all)
	})
}

func (l Listing) servicePage(name string) string {
	return Lines(func(b *strings.Builder) {
		l.driverTable(b, slices.DeleteFunc(slices.Clone(l.Drivers), func(d Driver) bool { return d.Service != name }))
		fmt.Fprintf(b, "\nlockbench list DRIVER tells the whole story of one.\n")
	})
}

func (l Listing) serverPage() string {
	var rows [][2]string
	for _, s := range l.Servers {
		text := s.Text
		if !s.Available {
			text = "not here: " + text
		}
		rows = append(rows, [2]string{s.Server + " " + s.Service, text})
	}
	for _, s := range servers.Services() {
		text := "-addr " + s.Example()
		if s.Variable != "" {
			text += ", or " + s.Variable
		}
		rows = append(rows, [2]string{matrix.External + " " + s.Name, text})
	}
	return Table(rows) + "\nlockbench help servers says more about each.\n"
}

func (l Listing) hazardPage() string {
	var rows [][2]string
	for _, h := range l.Hazards {
		rows = append(rows, [2]string{string(h.Hazard), h.About})
	}
	return Table(rows) + "\nWhat happens, and after the colon how a design loses to it; lockbench list LOCK says which designs do.\n"
}

func presetPage(name string) string {
	text, _ := presets.Find(name)
	return fmt.Sprintf("%s\nRun it: lockbench -workload %s -driver rueidis\n", text, name)
}
