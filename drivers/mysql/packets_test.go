package mysql

import (
	"slices"
	"testing"

	"github.com/lockbench/lockbench/drivers"
)

// packet returns a packet as servers send it.
func packet(number byte, body ...byte) []byte {
	return append([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), number}, body...)
}

func TestPackets(t *testing.T) {
	for _, c := range []struct {
		name   string
		stream []byte
		good   bool
	}{
		{"ok", packet(1, 0, 0, 0, 2, 0, 0, 0), true},
		{"several", slices.Concat(packet(0, make([]byte, 80)...), packet(2, 0), packet(1, 2), packet(2, 3), packet(3, 0xfe, 0, 0, 2, 0)), true},
		{"300 columns", packet(1, 0xfc, 44, 1), true},
		{"16 million columns", packet(1, 0xfd, 0xff, 0xff, 0xff), false},
		{"more columns than memory", packet(1, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), false},
		{"a request to log in another way", packet(2, 0xfe, 'm'), true},
		{"a packet as long as any", []byte{0xff, 0xff, 0xff, 1}, false},
		{"an empty one", slices.Concat(packet(4), packet(1, 0xfd)), false},
	} {
		for _, piece := range []int{1, 3, len(c.stream)} {
			p, err := new(packets), error(nil)
			for part := range slices.Chunk(c.stream, piece) {
				if err = p.check(part); err != nil {
					break
				}
			}
			if c.good != (err == nil) || err != nil && drivers.ClassOf(err) != drivers.ClassProtocol {
				t.Errorf("%s in pieces of %d: %v", c.name, piece, err)
			}
		}
	}
}
