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

// Sampler is client number client's, of clients that have keys to choose from. Check has found that they fit.
func (k Keys) Sampler(keys, client, clients int) *KeySampler { return nil }

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

// Max is the longest time that can be drawn, and 0 if there is no bound.
func (t Times) Max() time.Duration { return 0 }

// File is the path of a replayed file, and the digest that it is expected to have, each empty if there is none.
func (t Times) File() (path, digest string) { return "", "" }

// Load makes the distribution that replays those times, under its path and the digest of what was read.
func (t Times) Load(times []time.Duration, digest string) Times { return t }

// ReadTimes reads a file of milliseconds: one number a line, fractions allowed, empty lines and lines that begin with #
// left out. The error names the line. The digest is the first 12 hexadecimal digits of the SHA-256 of the content.
func ReadTimes(r io.Reader) (times []time.Duration, digest string, err error) {
	return nil, "", errors.ErrUnsupported
}

// TimeSampler draws times for one client.
type TimeSampler struct{}

// Sampler is client number client's. Clients replay a file from places of their own, round and round.
func (t Times) Sampler(client, clients int) *TimeSampler { return nil }

// Next draws a time.
func (s *TimeSampler) Next(rng *rand.PCG) time.Duration { return 0 }
