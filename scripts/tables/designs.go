// The table of lock designs, from what the drivers declare.

package main

import (
	"bytes"
	"fmt"

	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/all"
)

// designs returns the table. It lists each design once, with the drivers that have it.
func designs() []byte {
	type row struct {
		drivers.Design
		drivers string
	}
	var rows []*row
	at := map[string]*row{}
	for _, name := range drivers.Names() {
		d, err := drivers.Lookup(name)
		if err != nil {
			continue
		}
		for _, design := range d.Designs() {
			key := design.Name + design.Models
			if r := at[key]; r != nil {
				r.drivers += ", " + name
				continue
			}
			at[key] = &row{design, name}
			rows = append(rows, at[key])
		}
	}
	var b bytes.Buffer
	b.WriteString("| lock | drivers | exclusive | owned | expires | session | fenced | fair | re-entrant | renews | models | what is wrong with it |\n" +
		"|:--|:--|:-:|:-:|:-:|:-:|:-:|:-:|:-:|:-:|:--|:--|\n")
	for _, r := range rows {
		t := r.Traits
		fmt.Fprintf(&b, "| `%s` | %s |", r.Name, r.drivers)
		for _, has := range []bool{t.Exclusive, t.Owned, t.Expires, t.Session, t.Fenced, t.Fair, t.Reentrant, t.Renews} {
			mark := " "
			if has {
				mark = " ✓ "
			}
			fmt.Fprintf(&b, "%s|", mark)
		}
		fmt.Fprintf(&b, " %s | %s |\n", r.Models, r.Wrong)
	}
	return b.Bytes()
}
