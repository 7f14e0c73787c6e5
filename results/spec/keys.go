// Which key is wanted: the distributions, how they are written, and what fits them.

package spec

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results/format"
)

// Keys is a distribution over keys 0 to n-1. The zero value is uniform. Equal distributions are equal values.
//
//	uniform        every key alike
//	zipf:S         key k with weight 1/(k+1)^S, S from 0.001 to 20; YCSB's is 0.99
//	hot:SHARE:N    SHARE (80%) of the traffic on the first N keys, the rest on the others
//	sequential     each client one key after the other, round and round, from a place of its own
//	own            client i uses key i alone
type Keys struct {
	Kind     KeyKind
	Exponent float64 // of KeysZipf
	Share    float64 // of KeysHot: of the traffic
	Hot      int     // of KeysHot: the keys that it goes to
	written  string  // of an old record: a mix, or a part of the keys, which nothing else reads
}

// KeyKind is the kind of a distribution over keys; empty for uniform.
type KeyKind string

const (
	KeysZipf       KeyKind = "zipf"
	KeysHot        KeyKind = "hot"
	KeysSequential KeyKind = "sequential"
	KeysOwn        KeyKind = "own"
)

// ParseKeys reads a distribution; the empty text is uniform, as plans write it. The error says what would be right, without the
// flag's name.
func ParseKeys(text string) (Keys, error) {
	name, args, given := strings.Cut(text, ":")
	k := Keys{Kind: KeyKind(name)}
	switch {
	case text == "", text == "uniform":
		return Keys{}, nil
	case !given && (k.Kind == KeysSequential || k.Kind == KeysOwn):
		return k, nil
	case given && k.Kind == KeysZipf:
		s, err := strconv.ParseFloat(args, 64)
		if err != nil || !(0.001 <= s && s <= 20) {
			return Keys{}, errors.New("must be zipf:1.1, with an exponent from 0.001 to 20")
		}
		k.Exponent = s
		return k, nil
	case given && k.Kind == KeysHot:
		share, n, _ := strings.Cut(args, ":")
		var err, noInt error
		k.Share, err = ParseShare(share)
		k.Hot, noInt = ParseInt(n)
		if err != nil || noInt != nil || k.Share == 0 || k.Share == 1 || k.Hot < 1 || k.Hot > math.MaxInt32 {
			return Keys{}, errors.New("must be hot:80%:10, with a share between 0% and 100% and a number of keys")
		}
		return k, nil
	}
	return Keys{}, errors.New("must be uniform, zipf:1.1, hot:80%:10, sequential or own")
}

// String returns the canonical spelling; empty for uniform.
func (k Keys) String() string {
	switch k.Kind {
	case KeysZipf:
		return "zipf:" + strconv.FormatFloat(k.Exponent, 'f', -1, 64)
	case KeysHot:
		return "hot:" + FormatShare(k.Share) + ":" + strconv.Itoa(k.Hot)
	}
	return cmp.Or(k.written, string(k.Kind))
}

func (k Keys) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

func (k *Keys) UnmarshalText(text []byte) (err error) {
	if *k, err = ParseKeys(string(text)); err != nil && strings.ContainsAny(string(text), "*@") {
		*k, err = Keys{written: string(text)}, nil
	}
	return unread(err, "key_dist must be uniform, zipf:1.1, hot:80%:10, sequential or own")
}

// Uniform reports whether every key is drawn alike.
func (k Keys) Uniform() bool { return k == Keys{} }

// Even reports whether all keys are wanted alike in the long run: drawn alike, or one after the other.
func (k Keys) Even() bool { return k.Uniform() || k.Kind == KeysSequential }

// Check reports whether the distribution fits that many keys and clients. The error says what would be right.
func (k Keys) Check(keys, clients int) error {
	switch {
	case k.Kind == KeysHot && k.Hot >= keys:
		return fmt.Errorf("there must be more keys than hot ones, and there are %d", keys)
	case k.Kind == KeysOwn && keys < clients:
		return fmt.Errorf("there must be a key for each client, and there are %s for %s",
			format.Plural(keys, "key"), format.Plural(clients, "client"))
	}
	return nil
}
