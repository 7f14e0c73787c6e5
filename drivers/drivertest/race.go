//go:build race

package drivertest

const race = true // the race detector is on
