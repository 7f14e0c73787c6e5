// Package shell reads and writes the words of a command line.
package shell

import (
	"fmt"
	"regexp"
	"strings"
)

// part is a piece of a text: '…', "…", a backslash and what follows it, blanks between words, or what is as it is.
var part = regexp.MustCompile(`(?s)^(?:'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)|([ \t\r\n]+)|([^'"\\ \t\r\n]+))`)

// escaped is what a backslash within "…" takes away the meaning of.
var escaped = regexp.MustCompile(`\\(["\\])`)

// Split cuts a text into words as a POSIX shell does: blanks divide them, '…' takes everything as it is, "…" all but
// \" and \\, and a backslash outside of quotes takes what follows it. Nothing is expanded, since a shell has had its turn
// already. It is the inverse of Quote. Errors give the column, from 1.
func Split(text string) (words []string, err error) {
	between := true // words
	for rest := text; rest != ""; {
		found := part.FindStringSubmatch(rest)
		if found == nil {
			return nil, fmt.Errorf("column %d: the quote %c is never closed", len(text)-len(rest)+1, rest[0])
		}
		rest = rest[len(found[0]):]
		if found[4] != "" {
			between = true
			continue
		}
		if between {
			words, between = append(words, ""), false
		}
		words[len(words)-1] += found[1] + escaped.ReplaceAllString(found[2], "$1") + found[3] + found[5]
	}
	return words, nil
}

// Quote makes a word of v for a POSIX shell.
func Quote(v string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"
	if v != "" && strings.Trim(v, plain) == "" {
		return v
	}
	return "'" + strings.ReplaceAll(v, "'", `'\''`) + "'"
}
