// The names that settings take, and the defaults that other packages know.

package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/spec"
)

// Auto is the way of waiting that leaves the choice to the design.
const Auto = "auto"

// Choices returns the values of a setting that has a fixed set of them, the usual one first, and nil for the others.
func Choices(setting string) []string {
	switch setting {
	case "wait":
		names := []string{Auto}
		for _, k := range wait.Kinds() {
			names = append(names, k.Name)
		}
		return names
	case "handover":
		return wait.Handovers()
	case "pipelining":
		return texts("default", drivers.PipeliningAuto, drivers.PipeliningOff, drivers.PipeliningBatch)
	case "topology":
		return texts(drivers.TopologySingle, drivers.TopologyRedlock, drivers.TopologyReplicated,
			drivers.TopologySentinel, drivers.TopologyCluster, drivers.TopologyEnsemble)
	case "durability":
		return []string{"relaxed", "strict"}
	case "release":
		return texts("default", drivers.ReleaseLua, drivers.ReleaseDelIfEq, drivers.ReleaseDelEx)
	case "arrival":
		return []string{spec.Constant, spec.Poisson}
	}
	return nil
}

// texts returns names of a type as plans write them.
func texts[T ~string](names ...T) (list []string) {
	for _, name := range names {
		list = append(list, string(name))
	}
	return list
}

// Names returns the values of a setting that is chosen by a name, and nil for the others. Those of drivers and their locks
// are other ones in a program with drivers of its own, which is why they are no Choices.
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
	return Choices(setting)
}

// CheckNames returns a *FieldError for the first value of axes that is not among the known names. A lock that some
// driver has will do.
func CheckNames(axes []Axis) error {
	for _, a := range axes {
		known := Names(a.Setting.Name)
		for i := range a.Values {
			p := &a.Values[i]
			var err error
			switch {
			case known == nil, a.Setting.Name == "lock" && slices.ContainsFunc(axes, unstarted):
			case a.Setting.Name == "driver":
				err = checkDriver(p.Driver, known)
			case a.Setting.Name == "wait":
				err = checkName("wait", p.Wait, known) // without its times
			case a.Setting.Name == "pipelining" && p.FlushDelay > 0: // which only auto can have
			default:
				err = checkName(a.Setting.Name, a.Setting.Typed(p, &p.Load), known)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// unstarted reports whether an axis has an adapter whose locks are not known.
func unstarted(a Axis) bool {
	return a.Setting.Name == "driver" && slices.ContainsFunc(a.Values, func(p spec.Plan) bool {
		driver, _, _ := CutTopology(p.Driver)
		return drivers.Unstarted(driver)
	})
}

// checkDriver is checkName for a driver that may name its topology.
func checkDriver(text string, known []string) error {
	name, topology, named := CutTopology(text)
	if drivers.IsCommand(name) {
		known = append(known, name)
	}
	if err := checkName("driver", name, known); err != nil || !named {
		return err
	}
	err := checkName("topology", topology, Choices("topology"))
	if field, ok := err.(*FieldError); ok {
		field.Field, field.Value = "driver", text
		for i, t := range field.Known {
			field.Known[i] = name + "@" + t
		}
	}
	return err
}

func checkName(field, name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	return &FieldError{Field: field, Value: name, Known: known,
		Problem: fmt.Sprintf("unknown %s %q; there are %s", field, name, strings.Join(known, ", "))}
}

// Default returns the default of a setting as it is typed, and "" for none.
func Default(s spec.Setting) string {
	switch s.Name {
	case "handover":
		return wait.HandoverRelease
	case "io-timeout":
		return drivers.DefaultIOTimeout.String()
	case "node-timeout":
		return drivers.DefaultNodeTimeout.String()
	}
	return s.Default
}
