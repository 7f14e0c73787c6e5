package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/view"
)

// TestMarksAgree: the table, the page and CSV of a recorded file put the same doubts beside the same cells.
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
		recs, err := load(strings.TrimSuffix(file, ".gz"))
		if err != nil {
			t.Fatal(err)
		}
		cells, err := chosen(recs, nil)
		if err != nil {
			t.Fatal(err)
		}
		page := marks{}
		d := report.RunPage(cells, nil)
		page.read(append([]report.Block{d.Picture}, d.Blocks...))
		for _, b := range report.Run(cells, nil).Blocks {
			at := b.(report.At)
			table, ok := at.Block.(report.Table)
			if !ok || table.Caption != "Cells" {
				continue
			}
			of := tableMarks(table, cells)
			for i := range cells {
				link := fmt.Sprintf("cell-%d", i+1)
				marked += len(of[link])
				if its, ok := page[link]; !ok || !slices.Equal(of[link], its) {
					t.Errorf("%s: %s: %q in the table, and %q in the page", file, view.Labels(cells)[i], of[link], its)
				}
			}
		}
		if got, want := saturatedRows(t, cells), page.number("saturated"); got != want {
			t.Errorf("%s: %d cells are saturated in CSV, and %d in the page", file, got, want)
		}
	}
	if marked == 0 {
		t.Error("no recorded file has a mark to compare")
	}
}

// marks are the doubts beside each cell, by the link to its section of a page.
type marks map[string][]string

// doubts returns which of some words are doubts about figures.
func doubts(words []string) (all []string) {
	for _, f := range view.AllFlags() {
		if f.Doubt && slices.Contains(words, f.Name) {
			all = append(all, f.Name)
		}
	}
	return all
}

func (m marks) number(word string) (n int) {
	for _, words := range m {
		if slices.Contains(words, word) {
			n++
		}
	}
	return n
}

// read adds the marks of the charts and of the details of a page. A cell that is marked differently in two places has
// both.
func (m marks) read(blocks []report.Block) {
	add := func(link string, words []string) {
		if its, seen := m[link]; seen && !slices.Equal(its, doubts(words)) {
			words = append(words, its...)
		}
		m[link] = doubts(words)
	}
	for _, b := range blocks {
		switch b := b.(type) {
		case report.Section:
			if strings.HasPrefix(b.ID, "cell-") {
				add(b.ID, strings.Split(b.Status, ", "))
			}
			m.read(b.Blocks)
		case report.Intervals:
			for _, row := range b.Rows {
				var words []string
				for _, badge := range row.Badges {
					words = append(words, badge.Text)
				}
				add(row.Link, words)
			}
		}
	}
}

// tableMarks returns the marks in the notes of a table.
func tableMarks(table report.Table, cells []*results.Cell) marks {
	links := map[string]string{}
	for _, g := range view.NewRun(cells).Groups {
		for i, at := range g.Index {
			links[g.Load+g.Short[i]] = fmt.Sprintf("cell-%d", at+1)
		}
	}
	all, load := marks{}, ""
	for _, row := range table.Rows {
		if row.Group != "" {
			load = row.Group
		}
		if link, ok := links[load+row.Cells[0].Text]; ok {
			words := strings.Fields(row.Cells[len(row.Cells)-1].Text)
			all[link] = doubts(words)
		}
	}
	return all
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
