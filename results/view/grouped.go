package view

import "slices"

// Grouped is values by what they have in common, in the order in which that came first.
type Grouped[K, V comparable] struct {
	Keys []K
	Of   map[K][]V
}

// Add adds a value to those of its key.
func (g *Grouped[K, V]) Add(key K, value V) {
	if g.Of == nil {
		g.Of = map[K][]V{}
	}
	if g.Of[key] == nil {
		g.Keys = append(g.Keys, key)
	}
	g.Of[key] = append(g.Of[key], value)
}

// Once adds a value that the key does not have yet.
func (g *Grouped[K, V]) Once(key K, value V) {
	if !slices.Contains(g.Of[key], value) {
		g.Add(key, value)
	}
}
