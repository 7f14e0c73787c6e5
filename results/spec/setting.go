// What can be done with a setting.

package spec

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Text returns the value in p as it is typed, and "" if p does not set it. For a setting of classes it reads only l,
// the load of p or of one of its classes.
func (s Setting) Text(p *Plan, l *Load) string { return s.at(p, l).String() }

// Typed returns the value as it is typed, the default included, and "" if nothing reads the setting. It reads p and l
// as Text does.
func (s Setting) Typed(p *Plan, l *Load) string {
	if text := s.Text(p, l); text != "" {
		return text
	}
	return s.Zero
}

// Type returns what stands for the value in the help, and "" for a switch.
func (s Setting) Type() string { return s.at(&Plan{}, &Load{}).Type() }

// Set reads what was typed into p; for a setting of classes into its load. The error says what would be right,
// without the setting's name. A file of times is not read: its mean is 0.
func (s Setting) Set(p *Plan, text string) error { return s.at(p, &p.Load).Set(text) }

// Clear sets the value in p to zero; for a setting of classes it changes only l, the load of p or of one of its
// classes.
func (s Setting) Clear(p *Plan, l *Load) {
	for _, f := range fields(s.at(p, l)) {
		f.SetZero()
	}
}

// Copy copies the value from one plan to another; for a setting of classes that of their own loads.
func (s Setting) Copy(to, from *Plan) {
	source := fields(s.at(from, &from.Load))
	for i, f := range fields(s.at(to, &to.Load)) {
		f.Set(source[i])
	}
}

// fields returns those of a plan of which a value is made.
func fields(v Value) (list []reflect.Value) {
	for _, f := range reflect.ValueOf(v).Fields() {
		if f.Kind() == reflect.Pointer {
			list = append(list, f.Elem())
		}
	}
	return list
}

// Reads reports whether p reads the setting, for a load that is its own or one of its classes'. In a plan that does
// not the value is cleared, and to ask for it in a run of which no plan reads it is a mistake.
func (s Setting) Reads(p *Plan, l *Load) bool { return s.reads == nil || s.reads(p, l) }

// ReadBy reports whether any load of p reads the setting.
func (s Setting) ReadBy(p *Plan) bool {
	return slices.ContainsFunc(p.Groups(), func(c Class) bool { return s.Reads(p, &c.Load) })
}

// NeedsDriver reports whether only what the driver says of itself tells which plans read the setting.
func (s Setting) NeedsDriver() bool { return slices.Contains(s.Depends, "driver") }

// FieldError is a value of a setting that cannot be run. It names the flag, the value and what is allowed.
type FieldError struct {
	Field   string   // the setting's name, "clients"
	Value   string   // as the flag would be written
	Problem string   // "must be …"
	Known   []string // the known names, if it is not among them
	Class   string   // the class whose field it is; empty for the plan's own
}

func (e *FieldError) Error() string {
	text := fmt.Sprintf("-%s %s: %s", e.Field, cmp.Or(e.Value, `""`), e.Problem)
	if e.Class != "" {
		return "class " + e.Class + ": " + text
	}
	return text
}

// Unknown returns the error of a name that is not among the known ones.
func Unknown(field, name string, known []string) error {
	return &FieldError{Field: field, Value: name, Known: known,
		Problem: fmt.Sprintf("unknown %s %q; there are %s", field, name, strings.Join(known, ", "))}
}

// Check returns a *FieldError if the value in p, or in the load l of one of its classes, is none of the choices or
// out of bounds. A value may be nothing if it is that by default, and a choice always.
func (s Setting) Check(p *Plan, l *Load) error {
	text := s.Typed(p, l)
	name, _, _ := strings.Cut(text, ":")
	if s.Choices != nil && name != "" && !slices.Contains(s.Choices, name) {
		return Unknown(s.Name, name, s.Choices)
	}
	n := amount(s.at(p, l))
	if s.Least == "" || n == 0 && s.Default == s.Zero || s.bound(s.Least) <= n && n <= s.bound(s.Most) {
		return nil
	}
	text = cmp.Or(text, map[string]string{"TIME": "0s"}[s.Type()], "0")
	return &FieldError{Field: s.Name, Value: text, Problem: "must be " + s.Least + " to " + s.Most}
}

func (s Setting) bound(text string) float64 {
	var p Plan
	if err := s.Set(&p, text); err != nil {
		panic(err)
	}
	return amount(s.at(&p, &p.Load))
}

// amount returns a number, or a time in nanoseconds.
func amount(v Value) float64 {
	switch f := fields(v)[0]; {
	case f.CanInt():
		return float64(f.Int())
	case f.CanFloat():
		return f.Float()
	}
	return 0
}
