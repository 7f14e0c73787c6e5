// The names of drivers and locks.

package matrix

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/spec"
)

var topologySetting, _ = spec.Find("topology")

// Names returns the values of a setting that is chosen by a name, and nil for the others. Those of drivers and their
// locks are other ones in a program with drivers of its own, which is why the table does not have them.
func Names(setting string) []string {
	switch setting {
	case "driver":
		return drivers.AllNames()
	case "lock":
		var locks []string
		for _, name := range append(drivers.Names(), drivers.Found()...) {
			d, _ := drivers.Lookup(name)
			for _, design := range d.Designs() {
				locks = append(locks, design.Name)
			}
		}
		slices.Sort(locks)
		return slices.Compact(locks)
	}
	s, _ := spec.Find(setting)
	return s.Choices
}

// CheckNames returns a *spec.FieldError for the first value of axes that is not among the known names. A lock that some
// driver has will do, and any if an adapter is not started, so that its locks are not known.
func CheckNames(axes []Axis) error {
	anyLock := false
	for _, a := range axes {
		known := Names(a.Setting.Name)
		for i := range a.Values {
			p := &a.Values[i]
			var err error
			switch name := a.Setting.Name; {
			case name == "driver":
				driver, _, _ := CutTopology(p.Driver)
				anyLock = anyLock || drivers.Unstarted(driver)
				err = checkDriver(p.Driver, known)
			case name == "lock" && !anyLock && !slices.Contains(known, p.Lock):
				err = spec.Unknown(name, p.Lock, known)
			case a.Setting.Choices != nil:
				err = a.Setting.Check(p, &p.Load)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// checkDriver checks a driver that may name its topology.
func checkDriver(text string, known []string) error {
	driver, topology, named := CutTopology(text)
	if !slices.Contains(known, driver) && !drivers.IsCommand(driver) {
		return spec.Unknown("driver", driver, known)
	}
	if !named || slices.Contains(topologySetting.Choices, topology) {
		return nil
	}
	err := spec.Unknown("topology", topology, topologySetting.Choices).(*spec.FieldError)
	err.Field, err.Value, err.Known = "driver", text, nil
	for _, t := range topologySetting.Choices {
		err.Known = append(err.Known, driver+"@"+t)
	}
	return err
}

// CutTopology returns the parts of a driver that names its topology, as in redsync@redlock, and false for one that
// does not. The command of an adapter may have an @ of its own.
func CutTopology(text string) (driver, topology string, named bool) {
	if drivers.FamilyOf(text) == "" {
		return strings.Cut(text, "@")
	}
	at := strings.LastIndexByte(text, '@')
	if at < 0 || !slices.Contains(topologySetting.Choices, text[at+1:]) {
		return text, "", false
	}
	return text[:at], text[at+1:], true
}
