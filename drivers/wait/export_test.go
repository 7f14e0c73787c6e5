package wait

// Passes returns o with another number of swaps in a row.
func (o Options) Passes(n int) Options {
	o.mostPasses = n
	return o
}
