// Names of tables, rows and user locks, each with its own limits on the server.
package mysql

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
)

const (
	maxTableName = 64
	maxRowName   = 255 // of the column; an index takes at least 767 bytes everywhere
	maxLockName  = 64  // MySQL's limit; MariaDB takes 192
)

// newTableName returns the name of the table for all services with the same prefix and the same design: the letters and
// digits of the prefix, and 64 bits of a hash of both.
func newTableName(prefix, design string) string {
	const front, tail = "lb_", 16
	name := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, prefix), "_")
	name = name[:min(len(name), maxTableName-len(front)-1-tail)]
	sum := sha256.Sum256([]byte(design + "\x00" + prefix))
	return fmt.Sprintf("%s%s_%x", front, name, sum[:tail/2])
}

// rowName returns the key or, if that is too long for the column, its beginning and a hash of all of it.
func rowName(key string) string {
	if len(key) <= maxRowName {
		return key
	}
	tail := hash(key)
	return key[:maxRowName-len(tail)] + tail
}

// lockName returns the name of the user lock for a key. The server ignores case in names, and more under some
// collations, and limits their length. So a short key of lower-case letters, digits and a few signs is used as it is.
// Any other one is replaced by its beginning, with other characters substituted, and a hash of the whole key, which
// begins with a sign that is not among them.
func lockName(key string) string {
	plain := true
	clean := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', strings.ContainsRune(":._/-", r):
			return r
		}
		plain = false
		return '_'
	}, key)
	if plain && len(key) <= maxLockName {
		return key
	}
	tail := hash(key)
	return clean[:min(len(clean), maxLockName-len(tail))] + tail
}

// hash returns a # and 130 bits of the key's hash, as lower-case letters and digits.
func hash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "#" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:26]
}
