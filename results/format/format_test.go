package format

import (
	"math"
	"slices"
	"testing"
	"time"
)

// TestDurationExtremes: a sum that has overflowed is written like any other time.
func TestDurationExtremes(t *testing.T) {
	for d, want := range map[time.Duration]string{math.MinInt64: "-2,562,048 h", math.MaxInt64: "2,562,048 h", -1: "-1 ns"} {
		if got := Duration(d); got != want {
			t.Errorf("%d is %s, want %s", d, got, want)
		}
	}
}

// TestClean takes out what no file of XML may hold, and what moves the cursor of a terminal.
func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"plain µs – 版": "plain µs – 版", "a\nb\x1b[31m": "a b [31m", "\u202eback": " back", "no\ufffe\uffff\ufdd0\U0001ffff": "no    ", "\xff": " ",
	} {
		if got := Clean(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestWrap counts columns, of which a wide character takes two, and keeps all of the text.
func TestWrap(t *testing.T) {
	for _, test := range []struct {
		head, text string
		width      int
		want       []string
	}{
		{"", "", 30, []string{""}},
		{"at  ", "one two three four five six", 24, []string{"at  one two three four", "    five six"}},
		{"", "版本一二三 四五六七八 九十", 21, []string{"版本一二三 四五六七八", "九十"}},
		{"版 ", "版本一二三四五六七八九十", 23, []string{"版 版本一二三四五六七八", "   九十"}},
		{"", Glue("a b") + " c", 20, []string{"a b c"}},
	} {
		if got := Wrap(test.head, test.text, test.width); !slices.Equal(got, test.want) {
			t.Errorf("%q in %d: %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

func TestChangeText(t *testing.T) {
	for v, want := range map[float64]string{
		-0.0823: "−8.2 %", 0.0004: "0.0 %", -0.0004: "0.0 %", 0.5: "+50.0 %", 1.5: "+150 %", -0.9999: "−100 %", 0.0996: "+10.0 %",
	} {
		if got := Change(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}
