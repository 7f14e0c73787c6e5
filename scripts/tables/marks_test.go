package main

import (
	"bytes"
	"encoding/csv"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/report"
)

// TestMarksAgree: the document and CSV of a recorded file call the same number of cells saturated.
func TestMarksAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("all recorded runs, with -short")
	}
	files, err := filepath.Glob("../recorded/*.jsonl.gz")
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no recorded file")
	}
	marked := 0
	for _, file := range files {
		cells, err := chosen(file, "")
		if err != nil {
			t.Fatal(err)
		}
		got := 0 // in the table of all cells, of which the first screen may have some
		for _, b := range report.Run(cells, nil).Blocks {
			if b.Table == nil {
				continue
			}
			rows := 0
			for _, row := range b.Table.Rows {
				if slices.ContainsFunc(row.Marks, func(m report.Mark) bool { return m.Code == "saturated" }) {
					rows++
				}
			}
			got = max(got, rows)
		}
		if want := saturatedRows(t, cells); got != want && len(cells) > 1 {
			t.Errorf("%s: %d cells are saturated in CSV, and %d in the document", file, want, got)
		}
		marked += got
	}
	if marked == 0 {
		t.Error("no recorded file has a mark to compare")
	}
}

// saturatedRows returns how many cells have a saturated trial in CSV.
func saturatedRows(t *testing.T, cells []*results.Cell) int {
	var b bytes.Buffer
	if err := export.CSV(&b, cells); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at, run, cell := slices.Index(rows[0], "saturated"), slices.Index(rows[0], "run"), slices.Index(rows[0], "cell")
	found := map[string]bool{}
	for _, row := range rows[1:] {
		if yes, err := strconv.ParseBool(row[at]); err == nil && yes {
			found[row[run]+row[cell]] = true
		}
	}
	return len(found)
}
