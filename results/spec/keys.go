package spec

import (
	"errors"
	"strconv"
	"strings"
)

// Keys is a distribution over keys 0 to n-1. The zero value is uniform. Equal distributions are equal values.
//
//	uniform        every key alike
//	zipf:S         key k with weight 1/(k+1)^S, S from 0.001 to 20; YCSB's is 0.99
//	hot:SHARE:N    SHARE (80%) of the traffic on the first N keys, the rest on the others
//	sequential     each client one key after the other, round and round, from a place of its own
//	own            client i uses key i alone
type Keys struct {
	Kind     string  // "" for uniform
	Exponent float64 // of KeysZipf
	Share    float64 // of KeysHot: of the traffic
	Hot      int     // of KeysHot: the keys that it goes to
	text     string  // in one spelling; of an old record it may be a mix, or a part of the keys
}

const KeysZipf, KeysHot, KeysSequential, KeysOwn = "zipf", "hot", "sequential", "own"

const keyForms = "must be uniform, zipf:1.1 (0.001 to 20), hot:80%:10 (of the traffic, keys), sequential or own"

// ParseKeys reads a distribution; the empty text is uniform, as plans write it. The error does not repeat the text.
func ParseKeys(text string) (Keys, error) {
	kind, args, more := strings.Cut(text, ":")
	k, ok := Keys{Kind: kind, text: text}, false
	switch kind {
	case "", KeysSequential, KeysOwn:
		ok = !more
	case "uniform":
		k, ok = Keys{}, !more
	case KeysZipf: // what is no number is out of bounds
		k.Exponent, _ = parseDecimal(args, "")
		ok = 0.001 <= k.Exponent && k.Exponent <= 20
		k.text = "zipf:" + plain(k.Exponent)
	case KeysHot:
		share, hot, _ := strings.Cut(args, ":")
		k.Share, _ = ParseShare(share)
		k.Hot, _ = ParseInt(hot)
		ok = 0 < k.Share && k.Share < 1 && 0 < k.Hot && k.Hot < 1<<31
		k.text = "hot:" + FormatShare(k.Share) + ":" + strconv.Itoa(k.Hot)
	}
	if !ok {
		return Keys{}, errors.New(keyForms)
	}
	return k, nil
}

// String returns the canonical spelling; empty for uniform.
func (k Keys) String() string { return k.text }

func (k Keys) MarshalText() ([]byte, error) { return []byte(k.text), nil }

func (k *Keys) UnmarshalText(text []byte) (err error) {
	if *k, err = ParseKeys(string(text)); err != nil && strings.ContainsAny(string(text), "*@") {
		*k, err = Keys{text: string(text)}, nil
	}
	return err
}

// Needs returns how many keys there must be at least, for that many clients.
func (k Keys) Needs(clients int) int {
	if k.Kind == KeysOwn {
		return clients
	}
	return k.Hot + 1
}
