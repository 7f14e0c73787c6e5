package spec

import (
	"strings"
	"testing"
)

func TestParseShare(t *testing.T) {
	for in, want := range map[string]struct {
		share float64
		text  string
	}{
		"0":       {0, "0%"},
		"0%":      {0, "0%"},
		"0.0":     {0, "0%"},
		"80%":     {0.8, "80%"},
		"0.8":     {0.8, "80%"},
		".8":      {0.8, "80%"},
		" 0.80 ":  {0.8, "80%"},
		"10%":     {0.1, "10%"},
		"10 %":    {0.1, "10%"},
		"1%":      {0.01, "1%"},
		"0.1%":    {0.001, "0.1%"},
		"0.001":   {0.001, "0.1%"},
		"007%":    {0.07, "7%"},
		"7%":      {0.07, "7%"},
		"14%":     {0.14, "14%"},
		"55%":     {0.55, "55%"},
		"57.5%":   {0.575, "57.5%"},
		"100%":    {1, "100%"},
		"100.0%":  {1, "100%"},
		"0.0001%": {1e-6, "0.0001%"},
	} {
		got, err := ParseShare(in)
		if err != nil || got != want.share || FormatShare(got) != want.text {
			t.Errorf("%q is %v, %s, %v; want %v, %s", in, got, FormatShare(got), err, want.share, want.text)
		}
	}
	for _, in := range []string{
		"", "%", "x", "-1%", "1e-3", "NaN", "0x1p-2", "1/2", "1.2.3", "1", "2.5", "100",
		"101", "101%", "100.00000000001%", "9" + zeros(400), "9" + zeros(400) + "%",
	} {
		if got, err := ParseShare(in); err == nil || got != 0 || !strings.HasPrefix(err.Error(), "must be 0% to 100%, ") {
			t.Errorf("%.20q is %v, %v", in, got, err)
		}
	}
}

func zeros(n int) string { return strings.Repeat("0", n) }

func FuzzParseShare(f *testing.F) {
	for _, seed := range []string{"10%", "0.1", "1", ".5", "33.333333333333333%", "0.000001%", "%", "1e5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		share, err := ParseShare(text)
		if err != nil {
			return
		}
		if !(share >= 0 && share <= 1) {
			t.Errorf("%q is %v", text, share)
		}
		spelt := FormatShare(share)
		if again, err := ParseShare(spelt); err != nil || again != share {
			t.Errorf("%q is %v, written %s, which is %v, %v", text, share, spelt, again, err)
		}
	})
}
