// Which key is wanted: the distributions, how they are written, and what fits them.

package spec

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results/format"
)

// Keys is a distribution over keys 0 to n-1. The zero value is uniform. Equal distributions are equal values.
//
//	uniform                every key alike
//	zipf:S                 key k with weight 1/(k+1)^S, S from 0.001 to 20; YCSB's is 0.99
//	hot:SHARE:N            SHARE (80%) of the traffic on the first N keys, the rest on the others
//	sequential             each client one key after the other, round and round, from a place of its own
//	own                    client i uses key i alone
//	70%*zipf:1.1+30%*own   a weighted mix; the weights add up to 100 %
//	zipf:1.1@10-19         any of them (but the mix) on a part of the keys, both ends included
//
// The canonical spelling has the parts of a mix in the order of their weights, the greatest first.
type Keys struct{ text string } // the canonical spelling; empty: uniform

// KeyPart is one distribution, or one part of a mix.
type KeyPart struct {
	Weight      float64
	Kind        KeyKind
	Exponent    float64 // of KeysZipf
	Share       float64 // of KeysHot: of the traffic
	Hot         int     // of KeysHot: the keys that it goes to
	Ranged      bool    // only keys First to Last
	First, Last int
}

// KeyKind is the kind of a distribution over keys.
type KeyKind string

const (
	KeysUniform    KeyKind = "uniform"
	KeysZipf       KeyKind = "zipf"
	KeysHot        KeyKind = "hot"
	KeysSequential KeyKind = "sequential"
	KeysOwn        KeyKind = "own"
)

// The bounds catch slips: below the least exponent the keys are alike, and above the greatest all is one key.
const (
	minExponent = 0.001
	maxExponent = 20
	maxParts    = 16
)

const (
	keyForms = "uniform, zipf:1.1, hot:80%:10, sequential, own, or a mix such as 70%*zipf:1.1+30%*own"
	keyNames = "one of uniform, zipf, hot, sequential, own"
)

var keyExamples = map[KeyKind]string{
	KeysUniform: "uniform", KeysZipf: "zipf:0.99", KeysHot: "hot:80%:10", KeysSequential: "sequential", KeysOwn: "own",
}

// otherKeyNames are what other tools call them.
var otherKeyNames = map[string]string{
	"zipfian": "zipf:0.99",
	"hotspot": "hot:80%:10", "hotset": "hot:80%:10", "hot-set": "hot:80%:10", "hot-key": "hot:80%:1",
	"seq": "sequential", "round-robin": "sequential", "roundrobin": "sequential", "random": "uniform", "private": "own",
}

// ParseKeys reads a distribution; the empty text is uniform, as plans write it. The error says what is wrong, where,
// and what would be right, without the flag's name.
func ParseKeys(text string) (Keys, error) {
	if text == "" {
		return Keys{}, nil
	}
	w := whole(text)
	words := w.split("+")
	if len(words) > maxParts {
		return Keys{}, fmt.Errorf("must have no more than %d parts, and there are %d", maxParts, len(words))
	}
	var parts []KeyPart
	sum := 0.0
	for _, word := range words {
		p, err := parseWeighted(word, len(words) > 1)
		if err != nil {
			return Keys{}, err
		}
		if slices.ContainsFunc(parts, func(q KeyPart) bool { return q.String() == p.String() }) {
			return Keys{}, word.must("not be a second %s: write it once, with the sum of the weights", p)
		}
		parts = append(parts, p)
		sum += p.Weight
	}
	if sum = math.Round(sum*1e12) / 1e12; sum != 1 {
		return Keys{}, fmt.Errorf("must have weights that add up to 100%%, and they are %s", FormatShare(sum))
	}
	return canonicalKeys(parts), nil
}

// canonicalKeys orders the parts and writes the text.
func canonicalKeys(parts []KeyPart) Keys {
	slices.SortStableFunc(parts, func(a, b KeyPart) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), strings.Compare(a.String(), b.String()))
	})
	if len(parts) == 1 {
		if text := parts[0].String(); text != string(KeysUniform) {
			return Keys{text}
		}
		return Keys{}
	}
	var words []string
	for _, p := range parts {
		words = append(words, FormatShare(p.Weight)+"*"+p.String())
	}
	return Keys{strings.Join(words, "+")}
}

// Parts returns the parts of a mix in their order, or the only one with a weight of 1.
func (k Keys) Parts() []KeyPart {
	if k.Uniform() {
		return []KeyPart{{Weight: 1, Kind: KeysUniform}}
	}
	words := whole(k.text).split("+")
	parts := make([]KeyPart, len(words))
	for i, word := range words {
		parts[i], _ = parseWeighted(word, len(words) > 1) // ParseKeys has written it
	}
	return parts
}

// parseWeighted reads WEIGHT*PART, or a part that stands alone.
func parseWeighted(word part, mixed bool) (KeyPart, error) {
	weight, rest, weighted := word.cut("*")
	if !weighted {
		p, err := parseKeyPart(word)
		if p.Weight = 1; err == nil && mixed {
			err = word.must("have its weight before it, as in 30%%*%s", p)
		}
		return p, err
	}
	share, err := weight.share()
	if err != nil {
		return KeyPart{}, err
	}
	if share == 0 {
		return KeyPart{}, weight.must("be more than 0%%")
	}
	p, err := parseKeyPart(rest)
	p.Weight = share
	return p, err
}

func parseKeyPart(word part) (p KeyPart, err error) {
	form, keys, ranged := word.cut("@")
	if p, err = parseKeyForm(form); err != nil || !ranged {
		return p, err
	}
	first, last, _ := keys.cut("-")
	from, ok := first.count()
	to, ok2 := last.count()
	switch {
	case !ok || !ok2:
		return p, keys.must("be the first and the last key, as in %s@10-19", form.text)
	case to < from:
		return p, keys.must("name the lower key first, as in %s@%d-%d", form.text, to, from)
	case p.Kind == KeysHot && p.Hot > to-from:
		return p, form.must("have fewer hot keys than there are in %d-%d, which are %d", from, to, to-from+1)
	}
	p.Ranged, p.First, p.Last = true, from, to
	return p, nil
}

func parseKeyForm(form part) (p KeyPart, err error) {
	name, args, given := form.cut(":")
	switch p.Kind = KeyKind(name.text); p.Kind {
	case KeysZipf, KeysHot:
		if !given {
			return p, form.must("be written with its figures, as in %s", keyExamples[p.Kind])
		}
		if p.Kind == KeysHot {
			share, n, _ := args.cut(":")
			return parseHot(p, share, n)
		}
		p.Exponent, err = parseExponent(args)
		return p, err
	case KeysUniform, KeysSequential, KeysOwn:
		if given {
			err = form.must("be %s alone: there is nothing to set", p.Kind)
		}
		return p, err
	}
	lower := strings.ToLower(name.text)
	if right := cmp.Or(keyExamples[KeyKind(lower)], otherKeyNames[lower]); right != "" {
		return p, form.must("be written %s here", right)
	}
	if form.text == strings.TrimSpace(form.whole) {
		return p, form.must("be %s", keyForms)
	}
	return p, name.must("be %s", keyNames)
}

func parseExponent(word part) (float64, error) {
	s, ok := word.decimal()
	if !ok || s < minExponent || s > maxExponent {
		return 0, word.must("be an exponent from %v to %v, as in zipf:0.99 (the greater, the more on the first keys)",
			minExponent, maxExponent)
	}
	return s, nil
}

func parseHot(p KeyPart, share, n part) (_ KeyPart, err error) {
	if share.text == "" {
		return p, share.must("be the hot keys' share of the traffic and their number, as in hot:80%%:10")
	}
	if p.Share, err = share.share(); err != nil {
		return p, err
	}
	if p.Share == 0 || p.Share == 1 {
		return p, share.must("be more than 0%% and less than 100%%; for a part of the keys alone write uniform@0-9")
	}
	var ok bool
	if p.Hot, ok = n.count(); !ok || p.Hot == 0 {
		return p, n.must("be the number of hot keys, as in hot:%s:10", FormatShare(p.Share))
	}
	return p, nil
}

// String returns the part without its weight.
func (p KeyPart) String() string {
	text := string(p.Kind)
	switch p.Kind {
	case KeysZipf:
		text += ":" + strconv.FormatFloat(p.Exponent, 'f', -1, 64)
	case KeysHot:
		text += ":" + FormatShare(p.Share) + ":" + strconv.Itoa(p.Hot)
	}
	if p.Ranged {
		text += fmt.Sprintf("@%d-%d", p.First, p.Last)
	}
	return text
}

// String returns the canonical spelling; empty for uniform.
func (k Keys) String() string { return k.text }

func (k Keys) MarshalText() ([]byte, error) { return []byte(k.text), nil }

func (k *Keys) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKeys(string(text))
	return unread(err, "key_dist must be "+keyForms)
}

// Uniform reports whether every key is drawn alike.
func (k Keys) Uniform() bool { return k.text == "" }

// Even reports whether all keys are wanted alike in the long run: drawn alike, or one after the other.
func (k Keys) Even() bool {
	return !slices.ContainsFunc(k.Parts(), func(p KeyPart) bool {
		return p.Ranged || p.Kind != KeysUniform && p.Kind != KeysSequential
	})
}

// Check reports whether the distribution fits that many keys and clients. The error names the part that does not, and
// what would be right.
func (k Keys) Check(keys, clients int) error {
	if keys < 1 || clients < 1 {
		return errors.New("there must be a key and a client")
	}
	for _, p := range k.Parts() {
		first, size := p.Span(keys)
		switch {
		case first+size > keys:
			return fmt.Errorf("%s: the last of %s is %d", p, format.Plural(keys, "key"), keys-1)
		case p.Kind == KeysHot && p.Hot >= size:
			return fmt.Errorf("%s: there must be more keys than hot ones, and there are %d", p, size)
		case p.Kind == KeysOwn && size < clients:
			return fmt.Errorf("%s: there must be a key for each client, and there are %s for %s",
				p, format.Plural(size, "key"), format.Plural(clients, "client"))
		}
	}
	return nil
}

// Span returns the first of the part's keys, and their number.
func (p KeyPart) Span(keys int) (first, size int) {
	if p.Ranged {
		return p.First, p.Last - p.First + 1
	}
	return 0, keys
}
