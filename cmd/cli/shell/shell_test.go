package shell

import (
	"slices"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{" \t\r\n", nil},
		{"-wait queue", []string{"-wait", "queue"}},
		{"  -wait\tqueue\n-lockers 2 ", []string{"-wait", "queue", "-lockers", "2"}},
		{`-workload '{hold: 5ms}'`, []string{"-workload", "{hold: 5ms}"}},
		{`-workload "{name: 'a b'}"`, []string{"-workload", "{name: 'a b'}"}},
		{`"a\"b" "a\\b" "a\nb" 'a\b'`, []string{`a"b`, `a\b`, `a\nb`, `a\b`}},
		{`a\ b \'c \"`, []string{"a b", "'c", `"`}},
		{`-user '' ""`, []string{"-user", "", ""}},
		{`-us'er' x"y"z`, []string{"-user", "xyz"}},
		{`$HOME #x ;y`, []string{"$HOME", "#x", ";y"}},
		{"-user größe", []string{"-user", "größe"}},
	} {
		got, err := Split(test.text)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, %v, want %q", test.text, got, err, test.want)
		}
	}
	for text, want := range map[string]string{
		`-wait 'queue`:   "column 7: the quote ' is never closed",
		`a "b' c`:        `column 3: the quote " is never closed`,
		`-wait queue\`:   `column 12: the quote \ is never closed`,
		`"a\`:            `column 1: the quote " is never closed`,
		`-user 'a' b' c`: "column 12: the quote ' is never closed",
	} {
		if _, err := Split(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// FuzzSplit holds the splitter to being the inverse of Quote, and to never losing a letter outside of quotes.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"-wait\x00queue", "'\x00\"", `\`, "a b\x00\x00", "'\\''"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, joined string) {
		words := strings.Split(joined, "\x00")
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, Quote(w))
		}
		got, err := Split(strings.Join(quoted, " "))
		if err != nil || !slices.Equal(got, words) {
			t.Errorf("%q became %q, %v", words, got, err)
		}
		_, _ = Split(joined) // must not panic
	})
}
