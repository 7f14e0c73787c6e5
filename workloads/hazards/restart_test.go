package hazards

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// evicting is a server that evicts some of its keys, and never those that stay.
type evicting struct {
	Server
	keys, stay []string
}

func (e *evicting) KeysWith(_ context.Context, part string) (with []string, _ error) {
	for _, k := range e.keys {
		if strings.Contains(k, part) {
			with = append(with, k)
		}
	}
	return with, nil
}

func (e *evicting) Evict(_ context.Context, _ string, keys ...string) error {
	e.keys = slices.DeleteFunc(e.keys, func(k string) bool {
		return k == "unrelated" || slices.Contains(keys, k) && !slices.Contains(e.stay, k)
	})
	return nil
}

// TestEvict: the evidence of an eviction is that the keys of the locks are gone, whatever a library calls them, and no other key.
func TestEvict(t *testing.T) {
	for _, c := range []struct {
		name       string
		keys, stay []string
		want       string
	}{
		{"the lock's name", []string{"lock"}, nil, "evicted the keys: lock"},
		{"a name of the library's", []string{"prefix:0:lock", "unrelated"}, nil, "evicted the keys: prefix:0:lock"},
		{"another key alone", []string{"prefix:0:lock", "unrelated"}, []string{"prefix:0:lock"}, ""},
	} {
		evidence, err := evict(t.Context(), &evicting{keys: c.keys, stay: c.stay}, []string{"lock"})
		if (err == nil) != (c.want != "") || err == nil && !strings.HasSuffix(evidence, c.want) {
			t.Errorf("%s: %q, %v", c.name, evidence, err)
		}
	}
}
