// Command lockbench measures distributed locks: how fast and how safe each design is under a given contention.
package main

import (
	"github.com/lockbench/lockbench/cmd/cli"
	_ "github.com/lockbench/lockbench/drivers/all"
)

func main() { cli.Main() }
