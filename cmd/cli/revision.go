// -revision: what is under test, in the user's words.

package cli

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxRevision is how long it may be, in characters: a hash of git's has 40 or 64, and tables have little room.
const maxRevision = 80

// readRevision reads what goes into the records. Blanks around it are no part of it, since the output of a command has
// a line break at its end now and then.
func readRevision(o *options) (string, error) {
	opt := o.get("revision")
	text := strings.TrimSpace(opt.text)
	printable := func(r rune) bool { return unicode.IsPrint(r) && r != utf8.RuneError }
	switch {
	case utf8.RuneCountInString(text) > maxRevision:
		return "", usageErrorf("%s: must have %d characters at most, and has %d", opt.flagOrVariable(), maxRevision, utf8.RuneCountInString(text))
	case strings.IndexFunc(text, func(r rune) bool { return !printable(r) }) >= 0:
		return "", usageErrorf("%s: must be one line of printable characters", opt.flagOrVariable())
	}
	return text, nil
}
