package wire

import (
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers/fault"
)

// TestLog reads requests and replies of both protocols, whole, in single bytes, and all at once.
func TestLog(t *testing.T) {
	requests := "*1\r\n$4\r\nPING\r\n" +
		"*6\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\nme\r\n$2\r\nNX\r\n$2\r\nPX\r\n$1\r\n9\r\n" +
		"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n" +
		"*5\r\n$7\r\nEVALSHA\r\n$3\r\nsha\r\n$1\r\n1\r\n$1\r\nk\r\n$2\r\nme\r\n" +
		"*5\r\n$4\r\nEVAL\r\n$6\r\na\r\nb\r\n\r\n$1\r\n1\r\n$1\r\nk\r\n$2\r\nme\r\n"
	replies := "+PONG\r\n" + ">2\r\n$7\r\nmessage\r\n:1\r\n" + "+OK\r\n" + "%1\r\n$5\r\nproto\r\n*2\r\n:3\r\n*-1\r\n" +
		"-NOSCRIPT none\r\n" + "|1\r\n+ttl\r\n:5\r\n:1\r\n"
	for _, size := range []int{1, 3, 7, 1 << 10} {
		l := &Log{began: time.Now(), streams: map[any]*[2]stream{}}
		at := time.Duration(0)
		send := func(d fault.Direction, text string) {
			for piece := range slices.Chunk([]byte(text), size) {
				at += time.Second
				l.passes(fault.Passage{Link: 1, Direction: d, Data: piece, Came: l.began.Add(at), Went: l.began.Add(at + time.Millisecond)})
			}
		}
		send(fault.Requests, requests)
		send(fault.Replies, replies)
		var got []string
		for _, r := range l.Requests() {
			got = append(got, r.Args[0]+" "+r.Reply)
		}
		if want := []string{"PING +PONG", "SET +OK", "HELLO %1", "EVALSHA -NOSCRIPT none", "EVAL :1"}; !slices.Equal(got, want) {
			t.Errorf("in pieces of %d: %q, want %q", size, got, want)
			continue
		}
		holds := l.Holds()
		if len(holds) != 1 || holds[0].Key != "k" || holds[0].Release.Reply != ":1" || holds[0].Locked() < 0 {
			t.Errorf("in pieces of %d: holds %+v", size, holds)
		}
	}
}

// TestOverlaps counts a grant while another one holds the key, and the gap to the grant after both.
func TestOverlaps(t *testing.T) {
	hold := func(key string, from, until time.Duration) Hold {
		return Hold{key, Request{Answered: from}, Request{Asked: until}}
	}
	holds := []Hold{hold("a", 1, 5), hold("b", 2, 3), hold("a", 4, 8), hold("a", 6, 7), hold("a", 10, 11), hold("b", 11, 12)}
	if n := Doubles(holds); n != 2 {
		t.Errorf("%d double grants, want 2", n)
	}
	if gaps := Gaps(holds); !slices.Equal(gaps, []time.Duration{2, 8}) {
		t.Errorf("gaps %d, want 2 and 8", gaps)
	}
}
