package plot

import (
	"cmp"
	"slices"
)

// Spread moves labels apart along an axis, so that two are at least step from each other: down from from, and up again from to
// where that leads beyond it. It returns their places in the order of at. More labels than there is room for begin before from.
func Spread(at []float64, step, from, to float64) []float64 {
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	placed := slices.Clone(at)
	room := from
	for _, i := range order {
		placed[i] = max(placed[i], room)
		room = placed[i] + step
	}
	room = to
	for _, i := range slices.Backward(order) {
		placed[i] = min(placed[i], room)
		room = placed[i] - step
	}
	return placed
}
