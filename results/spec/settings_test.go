package spec

import (
	"cmp"
	"encoding"
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestSettingsAreWhole changes each field of a plan: the text of one setting changes with it, and sets it again.
func TestSettingsAreWhole(t *testing.T) {
	free := []string{"Seed", "Command", "Workload", "Server", "Classes", "Load"}
	texts := map[string]string{"Params": "a=b", "KeyDist": "own", "HoldDist": "exp:5ms", "ThinkDist": "exp:5ms", "Rate": "5000"}
	check := func(name string, set func(*Plan) reflect.Value) {
		before := Plan{Wait: map[string]string{"Poll": "poll", "BackoffMin": "backoff", "BackoffMax": "backoff"}[name]}
		after := before
		field := set(&after)
		switch v := field.Addr().Interface().(type) {
		case encoding.TextUnmarshaler:
			if err := v.UnmarshalText([]byte(texts[name])); err != nil {
				t.Fatal(name, err)
			}
		case *string:
			*v = cmp.Or(texts[name], "x")
		case *bool:
			*v = true
		case *int:
			*v = 7
		case *int64:
			*v = 7
		case *float64:
			*v = 0.5
		case *time.Duration:
			*v = 7 * time.Millisecond
		default:
			t.Fatalf("%s is a %v: how is it set?", name, field.Type())
		}
		var changed []string
		for _, s := range Settings {
			if s.Text(&before, &before.Load) != s.Text(&after, &after.Load) {
				changed = append(changed, s.Name)
			}
		}
		if len(changed) != 1 {
			t.Fatalf("%s changes the settings %q: want one", name, changed)
		}
		setting, _ := Find(changed[0])
		for _, want := range []Plan{after, before} {
			got := before
			text := setting.Typed(&want, &want.Load)
			if text == "" {
				continue
			}
			if err := setting.Set(&got, text); err != nil || setting.Text(&got, &got.Load) != setting.Text(&want, &want.Load) {
				t.Errorf("%s: %q is read as %q, %v", name, text, setting.Text(&got, &got.Load), err)
			}
		}
	}
	for f := range reflect.TypeFor[Plan]().Fields() {
		if !slices.Contains(free, f.Name) {
			check(f.Name, func(p *Plan) reflect.Value { return reflect.ValueOf(p).Elem().FieldByIndex(f.Index) })
		}
	}
	for f := range reflect.TypeFor[Load]().Fields() {
		check(f.Name, func(p *Plan) reflect.Value { return reflect.ValueOf(&p.Load).Elem().FieldByIndex(f.Index) })
	}
}

// TestSettingsOfClasses: what classes may have for themselves is read from their load, and all else from the plan.
func TestSettingsOfClasses(t *testing.T) {
	p := Plan{Driver: "d", Keys: 3, Load: Load{Clients: 1}}
	l := Load{Clients: 2, Hold: time.Minute}
	for name, want := range map[string]string{"driver": "d", "keys": "3", "clients": "2", "hold": "1m", "timeout": "0s", "ttl": ""} {
		s, _ := Find(name)
		if got := s.Typed(&p, &l); got != want || s.Class != (name != "driver" && name != "keys") {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
