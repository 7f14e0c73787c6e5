// Systems that tell neither their limits nor their release in the usual way.

//go:build !unix

package host

func fileLimit() int { return 0 }
func kernel() string { return "" }
