package results

// Parsing a line: nine tenths of it are histograms, at whose letters JSON need not look.
//
// Most of the time that is left goes into inflating them, for which klauspost/compress takes some three quarters of
// what the standard library does, and into adding them up. What did not help: a chain of places for the check of
// numbers, which is on the heap; merging several waiting trials at once, for packing a sum takes as long as adding
// three.

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"
)

var (
	hdrField   = []byte(`"hdr":"`)
	markInJSON = []byte(`\u0001`) // it has no other spelling: control characters have to be escaped, digits have no case
)

const mark = "\x01"

// parse is json.Unmarshal in less than half its time, which that spends on looking at each letter several times.
func parse(line []byte, rec *Record) error {
	if short, payloads, ok := withoutPayloads(line); ok {
		if json.Unmarshal(short, rec) == nil && rec.putBack(payloads) {
			return nil
		}
		*rec = Record{}
	}
	return json.Unmarshal(line, rec) // who finds something wrong with it wants to see all of it
}

// withoutPayloads replaces each histogram by a mark, which no line has of its own, and its number.
func withoutPayloads(line []byte) (short []byte, payloads []string, ok bool) {
	if bytes.Contains(line, markInJSON) {
		return nil, nil, false
	}
	short = make([]byte, 0, 16<<10) // as few are longer
	for {
		before, after, found := bytes.Cut(line, hdrField)
		if !found {
			return append(short, line...), payloads, true
		}
		payload, rest, ends := bytes.Cut(after, []byte(`"`))
		if !ends || !spellsItself(payload) {
			return nil, nil, false
		}
		short = append(append(append(short, before...), hdrField...), markInJSON...)
		short = append(strconv.AppendInt(short, int64(len(payloads)), 10), '"')
		payloads = append(payloads, string(payload))
		line = rest
	}
}

// spellsItself tells whether a JSON string is ASCII without escapes, and without what would have to be one.
func spellsItself(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// putBack undoes withoutPayloads. It tells whether all of them are where a histogram belongs.
func (r *Record) putBack(payloads []string) bool {
	found := 0
	for l := range r.latencies() {
		if number, marked := strings.CutPrefix(l.HDR, mark); marked {
			if i, err := strconv.Atoi(number); err == nil {
				l.HDR = payloads[i]
				found++
			}
		}
	}
	return found == len(payloads)
}

// unpack unpacks the histograms that can be.
func (r *Record) unpack() {
	for l := range r.latencies() {
		l.merged, _ = l.unpack()
	}
}

// latencies yields every distribution of r, which may be changed.
func (r *Record) latencies() iter.Seq[*Latency] {
	return func(yield func(*Latency) bool) {
		all := []map[Metric]Latency{r.Latency}
		for _, c := range r.Classes {
			all = append(all, c.Latency)
		}
		for _, of := range all {
			for m, l := range of {
				more := yield(&l)
				of[m] = l
				if !more {
					return
				}
			}
		}
	}
}
