package plot

import (
	"cmp"
	"slices"
)

// Spread moves labels apart along an axis, so that each has its height to itself: down from from, and up again where that leads
// beyond to. It returns where they begin, in the order of at. More labels than there is room for begin before from.
func Spread(at, heights []float64, from, to float64) []float64 {
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	placed := slices.Clone(at)
	room := from
	for _, i := range order {
		placed[i] = max(placed[i], room)
		room = placed[i] + heights[i]
	}
	room = to
	for _, i := range slices.Backward(order) {
		placed[i] = min(placed[i], room-heights[i])
		room = placed[i]
	}
	return placed
}
