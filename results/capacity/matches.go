package capacity

// Whether records are those of a plan, for one that goes on from them.

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/lockbench/lockbench/results"
)

// Matches reports whether r is the record of t, for a plan that goes on from records. The error names the field that differs.
func (t *Trial) Matches(r *results.Record) error {
	want, got := t.Plan, r.Plan
	want.Command, got.Command = "", ""
	if field := differing("plan", reflect.ValueOf(want), reflect.ValueOf(got)); field != "" {
		return fmt.Errorf("trial %d of candidate %d: %s is not that of this plan", t.Number+1, t.Candidate+1, field)
	}
	return nil
}

// differing returns the path of the first field, by its name in JSON, in which two structs differ; empty if there is none.
func differing(path string, a, b reflect.Value) (first string) {
	eachDifferent(a, b, func(of reflect.StructField, _ reflect.Value) {
		if name, _, _ := strings.Cut(of.Tag.Get("json"), ","); first == "" {
			first = path + "." + name
		}
	})
	return first
}

// eachDifferent calls do for each field of a, and of the structs that it embeds, that has another value in b.
func eachDifferent(a, b reflect.Value, do func(of reflect.StructField, field reflect.Value)) {
	for i := range a.NumField() {
		switch of, field := a.Type().Field(i), a.Field(i); {
		case of.Anonymous:
			eachDifferent(field, b.Field(i), do)
		case !reflect.DeepEqual(field.Interface(), b.Field(i).Interface()):
			do(of, field)
		}
	}
}

// DifferingEnv returns the first field, by its path in the JSON form, in which the machines or programs of two records differ;
// empty if there is none. What is under test in the user's words may differ.
func DifferingEnv(a, b results.Env) string {
	for _, e := range []*results.Env{&a, &b} {
		e.Revision = ""
		for _, m := range []*map[string]string{&e.Libraries, &e.Variables} {
			if len(*m) == 0 {
				*m = nil // as it is read again
			}
		}
	}
	return differing("env", reflect.ValueOf(a), reflect.ValueOf(b))
}

// DifferingServer does the same for servers that lockbench measured. Addresses of those that it started differ each time.
func DifferingServer(a, b results.Server) string {
	a.Connections, b.Connections = 0, 0
	if a.Kind != "external" {
		a.Addr, b.Addr = "", ""
	}
	return differing("server", reflect.ValueOf(a), reflect.ValueOf(b))
}
