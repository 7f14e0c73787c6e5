package spec

// SeedOf returns the seed of the n-th trial, from 0, of those that were asked for with one seed. The first has that seed itself;
// those of the others are far apart, as those of neighbouring seeds are (SplitMix64; Steele, Lea and Flood 2014).
func SeedOf(seed uint64, n int) uint64 {
	if n == 0 {
		return seed
	}
	z := seed + uint64(n)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
