// The recorded files.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
)

// cell returns the one cell that words choose.
func cell(path, words string) (*results.Cell, error) {
	cells, err := chosen(path, words)
	if err == nil && len(cells) != 1 {
		err = fmt.Errorf("%q chooses %d cells, and one is needed", strings.TrimSpace(words), len(cells))
	}
	if err != nil {
		return nil, err
	}
	return cells[0], nil
}

// chosen returns the cells of a file whose plans have all values of words, such as clients=64, hold=1ms or lock=set-nx,fenced
// (one of the two). A name is that in the plan's JSON, without its unit; a field that the plan omits because it has its default
// has the empty value: topology=
func chosen(path, words string) ([]*results.Cell, error) {
	recs, err := load(strings.TrimSuffix(path, ".gz"))
	if err != nil {
		return nil, err
	}
	var list []*results.Record
	for _, r := range recs {
		all := true
		for word := range strings.FieldsSeq(words) {
			name, value, ok := strings.Cut(word, "=")
			if !ok {
				return nil, fmt.Errorf("%q: write name=value", word)
			}
			all = all && slices.Contains(strings.Split(value, ","), r.plan[name])
		}
		if all {
			list = append(list, r.Record)
		}
	}
	if list == nil {
		return nil, fmt.Errorf("no record has %s", words)
	}
	return results.Group(list)
}

// recorded is a record, and the fields of its plan as text; the name of a time loses its "_ns" and the value is written as 1ms.
type recorded struct {
	*results.Record
	plan map[string]string
}

var loaded = map[string][]recorded{}

// load reads a file, which must not be damaged; once, because many figures come from the same one.
func load(path string) ([]recorded, error) {
	if list, ok := loaded[path]; ok {
		return list, nil
	}
	list, err := read(path, func(in io.Reader) (list []recorded, err error) {
		report, err := results.Read(in, func(r *results.Record) error {
			plan, err := fields(r)
			list = append(list, recorded{r, plan})
			return err
		})
		if err == nil && report.Damaged > 0 {
			err = errors.New(report.Damage[0].String())
		}
		return list, err
	})
	if err == nil {
		loaded[path] = list
	}
	return list, err
}

// fields returns the fields of a record's plan as text.
func fields(r *results.Record) (map[string]string, error) {
	text, err := json.Marshal(r.Plan)
	if err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage
	plan := map[string]string{}
	err = json.Unmarshal(text, &raw)
	for name, value := range raw {
		text := strings.Trim(string(value), `"`)
		if short, isTime := strings.CutSuffix(name, "_ns"); isTime {
			ns, _ := strconv.ParseInt(text, 10, 64)
			name, text = short, time.Duration(ns).String()
		}
		plan[name] = text
	}
	return plan, err
}

// read reads a file of any kind, which may be compressed: front-door.jsonl is kept as front-door.jsonl.gz.
func read[T any](file string, parse func(io.Reader) (T, error)) (v T, err error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		f, err = os.Open(file + ".gz")
	}
	if err != nil {
		return v, err
	}
	defer f.Close()
	return parse(results.Inflate(f))
}
