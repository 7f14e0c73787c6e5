// Package shape draws what makes a load look like a real one: which key a client wants next, and how long it holds and
// thinks. Distributions are written as text, one canonical spelling each; samplers belong to one client, take no lock and
// allocate nothing.
package shape

import (
	"errors"
	"io"
	"math/rand/v2"
	"time"
)

// Keys is a distribution over keys 0 to n-1. The zero value is uniform.
//
//	uniform                every key alike
//	zipf:S                 rank r with weight 1/r^S, S > 0 (Gray et al. 1994)
//	hot:SHARE:N            SHARE (80%) of the traffic on the first N keys, the rest on the others
//	sequential             each client in turn, beginning at its own place
//	own                    client i uses key i alone
//	70%*zipf:1.1+30%*own   a weighted mix; the weights add up to 100 %
//	uniform@10-19          any of them (zipf, hot, sequential, uniform) on a part of the keys, both ends included
type Keys struct{ text string }

// ParseKeys reads a distribution. The error says what is wrong and what would be right, without the flag's name.
func ParseKeys(text string) (Keys, error) { return Keys{text}, errors.ErrUnsupported }

// String is the canonical spelling; empty for uniform, which is what plans hold for it.
func (k Keys) String() string { return k.text }

// Uniform tells that every key is drawn alike.
func (k Keys) Uniform() bool { return k.text == "" }

// Check tells whether the distribution fits that many keys and clients.
func (k Keys) Check(keys, clients int) error { return errors.ErrUnsupported }

// KeySampler draws keys for one client.
type KeySampler struct{}

// Samplers are those of clients that have that many keys to choose from, client i's at i. They share what is the same
// for all of them. Check has found that keys and clients fit.
func (k Keys) Samplers(keys, clients int) []KeySampler { return make([]KeySampler, clients) }

// Next draws a key.
func (s *KeySampler) Next(rng *rand.PCG) int { return 0 }

// Times is a distribution of durations. The zero value is a fixed time of 0.
//
//	5ms                    fixed
//	uniform:1ms:9ms        from … to
//	exp:5ms                exponential, of that mean
//	lognormal:5ms:50ms     of that median and 99th percentile
//	file:PATH              replayed from a file of milliseconds, see ReadTimes; PATH#SHA256 (its first 12 digits) wants that content
type Times struct{ text string }

// ParseTimes reads a distribution; it opens no file.
func ParseTimes(text string) (Times, error) { return Times{text}, errors.ErrUnsupported }

// String is the canonical spelling; a fixed time is written as Go writes it.
func (t Times) String() string { return t.text }

// Fixed tells whether every time is the same, and which.
func (t Times) Fixed() (time.Duration, bool) { return 0, false }

// Mean is the expected value; of a file, 0 before Load.
func (t Times) Mean() time.Duration { return 0 }

// Max is a bound: no longer time is drawn. Distributions without an end, and files not loaded, have MaxTime.
func (t Times) Max() time.Duration { return 0 }

// File is the path of a replayed file, and the digest that it is expected to have, each empty if there is none.
func (t Times) File() (path, digest string) { return "", "" }

// Load reads the times that t replays and makes the distribution that knows them, under its path and the digest of what
// was read. It is an error if that is not the digest that t wants. The caller puts the path before the error.
func (t Times) Load(r io.Reader) (Times, error) { return t, errors.ErrUnsupported }

// ReadTimes reads a file of milliseconds: one number a line, fractions allowed, empty lines and lines that begin with #
// left out. The error names the line. The digest is the first 12 hexadecimal digits of the SHA-256 of the content.
func ReadTimes(r io.Reader) (times []time.Duration, digest string, err error) {
	return nil, "", errors.ErrUnsupported
}

// TimeSampler draws times for one client.
type TimeSampler struct{}

// Samplers are those of that many clients, client i's at i. Clients replay a file, which has to be loaded, from places of
// their own, spread evenly over it, round and round.
func (t Times) Samplers(clients int) []TimeSampler { return make([]TimeSampler, clients) }

// Next draws a time.
func (s *TimeSampler) Next(rng *rand.PCG) time.Duration { return 0 }

// MaxTime is the longest time that is ever drawn, or accepted: a longer one that a distribution yields is cut to it.
const MaxTime = 24 * time.Hour

// ParseShare reads a share of a whole, 80% or 0.8, as 0.8. The error says what would be right, without the flag's name.
func ParseShare(text string) (float64, error) { return 0, errors.ErrUnsupported }

// FormatShare is the canonical spelling: 80%.
func FormatShare(share float64) string { return "" }
