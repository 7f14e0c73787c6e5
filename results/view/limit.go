package view

// What limits the throughput of a cell, and what makes its load lighter.

import (
	"github.com/lockbench/lockbench/results"
)

// Limiting is one of the things that can limit a throughput.
type Limiting struct {
	By    results.LimitedBy
	Means string // a clause
}

// Limits are what can limit a throughput, in the order of legends.
var Limits = []Limiting{
	{results.ByKey, "keys were held, or changed hands, for most of the time"},
	{results.ByLock, "keys stood free though clients waited for them"},
	{results.ByLease, "clients waited for keys whose holders had died, until their leases ended"},
	{results.ByServerCPU, "the server had no processor time left"},
	{results.ByGenerator, "lockbench or its machine was busy, so that it is not the lock's limit"},
	{results.ByMachine, "lockbench and the server used up the cores that they share, so that it is not the lock's limit"},
	{results.ByConnections, "requests waited for one of a pool"},
	{results.ByClients, "there were too few to keep the keys busy"},
	{results.ByRate, "the clients kept up with all arrivals"},
	{results.ByErrors, "requests that failed took the clients' time, or arrivals with them"},
	{results.ByUnknown, "the records do not tell"},
}

// Lighter says what makes the load of c lighter.
func Lighter(c *results.Cell) string {
	switch p := c.Plan(); {
	case len(p.Classes) > 0:
		return "less load of its classes"
	case p.Burst > 0:
		return "fewer clients" // all of them come at once
	case p.Open():
		return "a lower -rate"
	}
	return "fewer clients or a -rate"
}
