// Package shell reads and writes the words of a command line.
package shell

import (
	"fmt"
	"strings"
)

// Split cuts a text into words as a POSIX shell does: blanks divide them, '…' takes everything as it is, "…" all but
// \" and \\, and a backslash outside of quotes takes what follows it. Nothing is expanded, since a shell has had its turn
// already. It is the inverse of Quote. Errors give the column, from 1.
func Split(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote byte // that is open, or 0
	begun, opened := false, 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote == '\'' && c != '\'', quote == '"' && c != '"' && c != '\\':
			word.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case c == '\'' || c == '"': // outside of quotes
			quote, begun, opened = c, true, i
		case c == '\\' && i+1 == len(text):
			return nil, fmt.Errorf("column %d: nothing follows the backslash", i+1)
		case c == '\\' && quote == '"' && text[i+1] != '"' && text[i+1] != '\\':
			word.WriteByte(c)
		case c == '\\':
			i++
			word.WriteByte(text[i])
			begun = true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("column %d: the quote %c is never closed", opened+1, quote)
	}
	if begun {
		words = append(words, word.String())
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
