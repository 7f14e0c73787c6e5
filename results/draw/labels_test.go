package draw

import (
	"slices"
	"testing"
)

func TestSpread(t *testing.T) {
	for _, test := range []struct{ at, want []float64 }{
		{nil, nil},
		{[]float64{50, 10}, []float64{50, 10}},
		{[]float64{10, 12, 11}, []float64{10, 30, 20}},
		{[]float64{95, 99, 98}, []float64{80, 100, 90}},
		{[]float64{0, 100, 95}, []float64{0, 100, 90}},
		{[]float64{50, 50, 50}, []float64{50, 60, 70}},
	} {
		if got := spread(test.at, tens(len(test.at)), 0, 110); !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, want %v", test.at, got, test.want)
		}
	}
	if got, want := spread([]float64{10, 12, 14}, []float64{10, 30, 10}, 0, 100), []float64{10, 20, 50}; !slices.Equal(got, want) {
		t.Errorf("labels of several heights: %v, want %v", got, want)
	}
	many := spread(make([]float64, 20), tens(20), 0, 110)
	for i := range many[1:] {
		if many[i+1]-many[i] != 10 {
			t.Fatalf("more labels than there is room for: %v", many)
		}
	}
}

func tens(n int) []float64 { return slices.Repeat([]float64{10}, n) }
