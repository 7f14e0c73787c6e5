// The client's set-up as other packages need it: the driver of the lock library that comes with rueidis.
package rueidis

import (
	"github.com/redis/rueidis"

	"github.com/lockbench/lockbench/drivers/redis"
)

// Driver is the driver that is registered as "rueidis".
var Driver = redis.Driver{Dial: Dial}

// ClientOption is how a client is set up for the designs: no retries, no client-side cache, deadlines honoured.
func ClientOption(o redis.Options) (rueidis.ClientOption, error) { return clientOption(o) }

// Translate gives the library's own errors their class, as package redis wants them.
func Translate(err error) error { return translate(err) }
