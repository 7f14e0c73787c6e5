package results

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// manyLines are more than can be under way at once: records, damage, blank lines, and records so long that each is parsed
// while there is no other.
func manyLines(t *testing.T) (text string, ids []string, damage []int) {
	var b strings.Builder
	for n := 1; n <= 5*maxInFlight; n++ {
		switch {
		case n%7 == 3:
			b.WriteString("damage\n")
			damage = append(damage, n)
		case n%11 == 5:
			b.WriteString(" \n")
		case n%23 == 1:
			b.WriteString("{" + strings.Repeat(" ", maxAhead))
			b.WriteString(line(t, short(n))[1:])
			ids = append(ids, fmt.Sprint("r", n))
		default:
			b.WriteString(line(t, short(n)))
			ids = append(ids, fmt.Sprint("r", n))
		}
	}
	return b.String(), ids, damage
}

// short returns a record without histograms.
func short(n int) *Record {
	r := numbered(n)
	r.Latency, r.Classes = nil, nil
	return r
}

// TestReadAheadKeepsOrder: however lines are parsed, records and damage come as the file has them.
func TestReadAheadKeepsOrder(t *testing.T) {
	text, want, damage := manyLines(t)
	ids, report, err := readString(text)
	if err != nil || !reflect.DeepEqual(ids, want) {
		t.Errorf("%v, got  %v\nwant %v", err, ids, want)
	}
	var lines []int
	for _, d := range report.Damage {
		lines = append(lines, d.Line)
	}
	if !reflect.DeepEqual(lines, damage) {
		t.Errorf("damage in lines %v, want %v", lines, damage)
	}
}

// TestReadAheadStops wherever each has had enough, a line cannot be read, or is of the future: what comes before has been
// handed out, nothing behind it is, and nobody stays behind.
func TestReadAheadStops(t *testing.T) {
	text, want, _ := manyLines(t)
	enough := errors.New("enough")
	for stop := 0; stop < len(want); stop += 6 {
		leaks := goleak.IgnoreCurrent()
		var ids []string
		report, err := Read(strings.NewReader(text), func(r *Record) error {
			if ids = append(ids, r.ID); len(ids) > stop {
				return enough
			}
			return nil
		})
		if err != enough || !reflect.DeepEqual(ids, want[:stop+1]) || report.Records != stop+1 {
			t.Errorf("after %d: %v, %v, %+v", stop, err, ids, report)
		}
		goleak.VerifyNone(t, leaks)
	}
	newer := strings.Replace(line(t, short(1)), `"schema":1`, `"schema":2`, 1)
	for text, in := range map[string]io.Reader{
		"enough": io.MultiReader(strings.NewReader(text), errorReader{enough}),
		"schema: 2 is newer than 1: " + ErrNewerSchema.Error(): strings.NewReader(text + newer + text),
	} {
		why := "results: read: line 81: " + text
		var ids []string
		_, err := Read(in, func(r *Record) error { ids = append(ids, r.ID); return nil })
		if err == nil || err.Error() != why || !reflect.DeepEqual(ids, want) {
			t.Errorf("%v after %d records, want %s after %d", err, len(ids), why, len(want))
		}
	}
}

// TestReadAheadIsBounded: no more lines are read than can be under way, so that memory does not grow with the file.
func TestReadAheadIsBounded(t *testing.T) {
	one := line(t, short(1))
	in := &countingReader{in: strings.NewReader(strings.Repeat(one, 1000))}
	records := 0
	_, err := Read(in, func(*Record) error {
		records++
		if ahead := in.bytes/len(one) - records; ahead > maxInFlight+64<<10/len(one) { // the reader has a buffer
			return fmt.Errorf("%d lines are ahead of record %d", ahead, records)
		}
		return nil
	})
	if err != nil || records != 1000 {
		t.Errorf("%d records, %v", records, err)
	}
}

type countingReader struct {
	in    io.Reader
	bytes int
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.bytes += n
	return n, err
}
