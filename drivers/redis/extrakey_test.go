package redis

import (
	"strings"
	"testing"
)

func TestExtraKey(t *testing.T) {
	for _, test := range []struct{ prefix, key, want string }{
		{"", "k", "fence:{k}"},
		{"run:", "run:0", "run:fence:{run:0}"},
		{"run:", "run:{a}0", "run:fence:run:{a}0"},
		{"{run}:", "{run}:0", "{run}:fence:{run}:0"},
		{"run:", "run:{}0", "run:fence:{run:{}0}"}, // an empty tag does not count: then no name works
		{"run:", "run:{0", "run:fence:{run:{0}"},
	} {
		got := extraKey(test.prefix, fenceKind, test.key)
		if got != test.want || !strings.HasPrefix(got, test.prefix) {
			t.Errorf("%q: %q, want %q", test.key, got, test.want)
		}
		if !strings.Contains(test.key, "{}") && Slot(got) != Slot(test.key) {
			t.Errorf("%q and %q are in different slots", test.key, got)
		}
	}
	for key, channel := range map[string]string{
		"run:0":      "redisson_lock__channel:{run:0}",
		"run:{a}0":   "redisson_lock__channel:run:{a}0",
		"{run}:0":    "redisson_lock__channel:{run}:0",
		"a}b":        "redisson_lock__channel:{a}b}",
		"{run}:{0}":  "redisson_lock__channel:{run}:{0}",
		"":           "redisson_lock__channel:{}",
		"{unclosed:": "redisson_lock__channel:{unclosed:",
	} {
		if got := redissonChannels.of(key); got != channel || redissonChannels.key(got) != key {
			t.Errorf("%q: channel %q and back %q", key, got, redissonChannels.key(got))
		}
	}
}
