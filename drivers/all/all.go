// Package all registers every driver. Only programs import it.
//
// None is left out for the size of a program. The largest is etcd, whose client brings gRPC: 4 of the 49 MB of a
// release. A build from nothing takes as long without it.
package all

import (
	_ "github.com/lockbench/lockbench/drivers/etcd"          // etcd
	_ "github.com/lockbench/lockbench/drivers/memory"        // memory, null
	_ "github.com/lockbench/lockbench/drivers/mysql"         // mysql
	_ "github.com/lockbench/lockbench/drivers/postgres"      // postgres
	_ "github.com/lockbench/lockbench/drivers/redis/goredis" // go-redis
	_ "github.com/lockbench/lockbench/drivers/redis/rueidis" // rueidis
	_ "github.com/lockbench/lockbench/drivers/redislock"     // redislock
	_ "github.com/lockbench/lockbench/drivers/redsync"       // redsync
	_ "github.com/lockbench/lockbench/drivers/rueidislock"   // rueidislock
	_ "github.com/lockbench/lockbench/drivers/zookeeper"     // zookeeper
)
