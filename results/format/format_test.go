package format

import (
	"math"
	"slices"
	"strings"
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

// TestLine takes out what no file of XML may hold, and what moves the cursor of a terminal.
func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"plain µs – 版": "plain µs – 版", "a\nb\x1b[31m": "a b [31m", "\u202eback": " back", "no\ufffe\uffff\ufdd0\U0001ffff": "no    ", "\xff": " ",
	} {
		if got := Line(text); got != want {
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
		{"a: ", "short", 30, []string{"a: short"}},
		{"", "one two three four" + Unbroken + "five", 20, []string{"one two three", "four five"}},
		{"", strings.Repeat("x", 45), 20, []string{strings.Repeat("x", 20), strings.Repeat("x", 20), "xxxxx"}},
		{"", "ab " + strings.Repeat("µ", 25) + " cd", 20, []string{"ab", strings.Repeat("µ", 20), "µµµµµ cd"}},
	} {
		if got := Wrap(test.head, test.text, test.width); !slices.Equal(got, test.want) {
			t.Errorf("%q in %d: %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

func TestChange(t *testing.T) {
	for v, want := range map[float64]string{
		-0.0823: "−8.2 %", 0.0004: "0.0 %", -0.0004: "0.0 %", 0.5: "+50.0 %", 1.5: "+150 %", -0.9999: "−100 %", 0.0996: "+10.0 %",
	} {
		if got := Change(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ns", 7: "7 ns", 999: "999 ns", 1000: "1.00 µs", 45_000: "45.0 µs", 999_499: "999 µs", 999_500: "1.00 ms",
		1_234_567: "1.23 ms", 99_949_999: "99.9 ms", 99_950_000: "100 ms", 999_499_999: "999 ms", 999_500_000: "1.00 s",
		9_994_999_999: "9.99 s", 10 * time.Second: "10.0 s", 119 * time.Second: "119 s", 2 * time.Minute: "2.00 min",
		time.Hour: "60.0 min", 49 * time.Hour: "49.0 h", -1500: "-1.50 µs",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", int64(d), got, want)
		}
	}
}

func TestExact(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 5: "5 ns", 20 * time.Microsecond: "20 µs", 1500 * time.Microsecond: "1.5 ms", 100 * time.Millisecond: "100 ms",
		30 * time.Second: "30 s", 90 * time.Minute: "5400 s", -time.Second: "-1 s",
	} {
		if got := Exact(d); got != want {
			t.Errorf("Exact(%d) = %q, want %q", int64(d), got, want)
		}
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{
		0: "0 %", 0.00001: "< 0.01 %", 0.0003: "0.03 %", 0.0018: "0.2 %", 0.0996: "10 %", 0.042: "4.2 %", 0.92: "92 %", 1.03: "103 %",
	} {
		if got := Percent(share); got != want {
			t.Errorf("%v: %q, want %q", share, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0", -1: "-1", 999: "999", 1000: "1,000", -123456: "-123,456", 1234567: "1,234,567", math.MinInt64: "-9,223,372,036,854,775,808"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0", 0.1234: "0.12", 3.1: "3.10", 9.994: "9.99", 9.996: "10.0", 99.94: "99.9", 99.96: "100", 8130.4: "8,130"} {
		if got := Three(v); got != want {
			t.Errorf("Three(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestPart(t *testing.T) {
	for want, n := range map[string][2]int64{
		"the only key": {1, 1}, "all 4 keys": {4, 4}, "3 of 4 keys": {3, 4}, "1 of 1,000 keys": {1, 1000},
	} {
		if got := Part(n[0], n[1], "key"); got != want {
			t.Errorf("%d of %d: %q, want %q", n[0], n[1], got, want)
		}
	}
}
