package drivers

import (
	"encoding/base64"
	"encoding/binary"
	"math/rand/v2"
)

// Owners makes owner tokens: 22 characters that carry 128 random bits, unique to one acquisition. The bits come from
// the runtime's ChaCha8, which the system has seeded, because crypto/rand costs a system call or close to one. Owners
// makes a few tokens at a time, so that each costs a fraction of an allocation. One goroutine uses it at a time; the
// zero value is ready.
type Owners struct {
	batch   string
	adopted string // the next token, if the caller chose it
}

const (
	ownerBytes = 16
	ownerChars = 22 // base64 of 16 bytes without padding
	ownerBatch = 8
)

// Adopt makes Next return token once, instead of a new one; see Adopter.
func (o *Owners) Adopt(token string) { o.adopted = token }

// Next returns a token that was never used before, or the adopted one.
func (o *Owners) Next() string {
	if token := o.adopted; token != "" {
		o.adopted = ""
		return token
	}
	if o.batch == "" {
		var raw [ownerBatch * ownerBytes]byte
		for i := 0; i < len(raw); i += 8 {
			binary.NativeEndian.PutUint64(raw[i:], rand.Uint64())
		}
		var text [ownerBatch * ownerChars]byte
		for i := range ownerBatch {
			base64.RawURLEncoding.Encode(text[i*ownerChars:], raw[i*ownerBytes:(i+1)*ownerBytes])
		}
		o.batch = string(text[:])
	}
	token := o.batch[:ownerChars]
	o.batch = o.batch[ownerChars:]
	return token
}

// Absent returns the name of a key that begins with prefix and never existed, for a Prober to read.
func Absent(prefix string) string {
	var unique Owners
	return prefix + "absent:" + unique.Next()
}
