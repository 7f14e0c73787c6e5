package drivers

import (
	"crypto/rand"
	"encoding/base64"
)

// Owners makes owner tokens: 22 characters that carry 128 random bits from the system's generator. Each is unique
// to one acquisition. It draws a few at a time, so that a token costs a fraction of an allocation and of a system
// call. One goroutine uses it at a time; the zero value is ready.
type Owners struct {
	batch string
}

const (
	ownerBytes = 16
	ownerChars = 22 // base64 of 16 bytes without padding
	ownerBatch = 16
)

// Next returns a token that no one has had before. It stays valid for as long as it is referenced.
func (o *Owners) Next() string {
	if o.batch == "" {
		var raw [ownerBatch * ownerBytes]byte
		rand.Read(raw[:]) // never fails: crypto/rand ends the program first
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
