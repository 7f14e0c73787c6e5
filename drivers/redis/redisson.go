// The wire format of Redisson: its scripts and names.
package redis

import (
	"crypto/rand"
	"fmt"
	"strings"
)

var (
	redissonTryScript     = loadScript("redisson_try")
	redissonReleaseScript = loadScript("redisson_release")
	redissonRenewScript   = loadScript("redisson_renew")
)

// redissonChannels are Redisson's, and the only names that do not begin with the run's prefix, because Redisson's
// listeners hear nothing else. A key with a brace is taken to have a hash tag. (A key that is all hash tag, "{a}",
// shares a channel with "a", as in Redisson; no run has such keys.)
var redissonChannels = channelNames{
	of: func(key string) string {
		if strings.Contains(key, "{") {
			return redissonChannel + key
		}
		return redissonChannel + "{" + key + "}"
	},
	key: func(channel string) string {
		key := strings.TrimPrefix(channel, redissonChannel)
		bare := strings.TrimSuffix(strings.TrimPrefix(key, "{"), "}")
		if len(bare) == len(key)-2 && !strings.Contains(bare, "{") {
			return bare
		}
		return key
	},
}

const (
	redissonChannel = "redisson_lock__channel:"
	redissonUnlock  = "0" // LockPubSub.UNLOCK_MESSAGE
)

// uuid returns a random UUID, like Java's randomUUID.
func uuid() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
