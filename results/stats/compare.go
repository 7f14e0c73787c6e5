package stats

// Change is what became of a figure from base to head; each value is one trial's.
type Change struct {
	Base, Head Estimate
	Ratio      float64 // Head.Median / Base.Median; NaN if it has none
	Low, High  float64 // the interval of the ratio; NaN if there is none
	P          float64 // two-sided, by the test of Mann and Whitney
}
