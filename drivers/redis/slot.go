// The slot of a key in a Redis Cluster.
package redis

import (
	"slices"
	"strings"
)

// Slots is the number of slots of a Redis Cluster.
const Slots = 16384

// Slot returns the slot of a key: the CRC16 of its hash tag, or of the whole key if it has none, modulo Slots. See
// "Redis cluster specification, Key distribution model".
func Slot(key string) int {
	if tag, ok := hashTag(key); ok {
		key = tag
	}
	var crc uint16
	for i := range len(key) {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^key[i]]
	}
	return int(crc % Slots)
}

// hashTag returns the text between the first { of a key and the next }, unless it is empty.
func hashTag(key string) (string, bool) {
	_, rest, open := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(rest, "}")
	return tag, open && closed && tag != ""
}

// crcTable is the table of CRC-16/XMODEM: polynomial 0x1021, not reflected.
var crcTable = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
		table[i] = crc
	}
	return table
}()

// shardedMark ends channels that were given a hash tag, so that they differ from other keys' channels.
const shardedMark = "!"

// shardChannel returns the name of a key's channel for sharded publications: one in the key's slot, because scripts may
// publish nowhere else. Keys with a } and without a hash tag have no such channel; lockbench makes no such keys.
func shardChannel(channel string) string {
	if _, tagged := hashTag(channel); tagged {
		return channel
	}
	key := strings.TrimSuffix(channel, releasedSuffix)
	return "{" + key + "}" + channel[len(key):] + shardedMark
}

// unshardChannel reverses shardChannel.
func unshardChannel(name string) string {
	wrapped, ok := strings.CutSuffix(name, shardedMark)
	if !ok || !strings.HasPrefix(wrapped, "{") {
		return name
	}
	key, rest, ok := strings.Cut(wrapped[1:], "}")
	if !ok {
		return name
	}
	return key + rest
}

// shardPublish is put before a script that publishes, to make it use SPUBLISH; it follows shardChannel. A channel that
// is not the key's is still published to all nodes; designs with such channels subscribe to them likewise.
const shardPublish = `local function publish(channel, message)
	local open = string.find(channel, '{', 1, true)
	local close = open and string.find(channel, '}', open + 1, true)
	if not (close and close > open + 1) then
		if string.sub(channel, 1, #KEYS[1]) ~= KEYS[1] then
			return redis.call('PUBLISH', channel, message)
		end
		channel = '{' .. KEYS[1] .. '}' .. string.sub(channel, #KEYS[1] + 1) .. '` + shardedMark + `'
	end
	return redis.call('SPUBLISH', channel, message)
end
`

// bySlot returns the keys ordered by slot.
func bySlot(keys []string) []string {
	return slices.SortedStableFunc(slices.Values(keys), func(a, b string) int { return Slot(a) - Slot(b) })
}

// sameSlot returns how many of the first keys are in one slot.
func sameSlot(keys []string) int {
	n := 1
	for n < len(keys) && Slot(keys[n]) == Slot(keys[0]) {
		n++
	}
	return n
}
