package capacity

import (
	"math"
	"reflect"
	"slices"
)

// Known returns a copy of a without NaN and infinite numbers: an estimate that came out as NaN or as infinite is not known, which
// is 0 everywhere in an Answer. Lists that may not be absent are empty where they were nil. Whatever writes an Answer begins
// with it: JSON has no NaN, and people do not read it.
func (a *Answer) Known() *Answer {
	known := *a
	finite(reflect.ValueOf(&known).Elem())
	known.Analysis, known.Candidates = notNil(known.Analysis), notNil(known.Candidates)
	return &known
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// finite makes numbers of v that are not finite 0. Lists are copied first, since others may hold them, too.
func finite(v reflect.Value) {
	switch v.Kind() {
	case reflect.Float64:
		if f := v.Float(); v.CanSet() && (math.IsNaN(f) || math.IsInf(f, 0)) {
			v.SetFloat(0)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			finite(v.Field(i))
		}
	case reflect.Slice:
		if v.Len() == 0 || !v.CanSet() || !slices.Contains([]reflect.Kind{reflect.Struct, reflect.Float64}, v.Type().Elem().Kind()) {
			return
		}
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		for i := range list.Len() {
			finite(list.Index(i))
		}
		v.Set(list)
	}
}

// IsZero reports whether nothing is known of r.
func (r Range) IsZero() bool { return r == Range{} }
