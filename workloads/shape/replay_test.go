package shape

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

func TestReadTimes(t *testing.T) {
	for in, want := range map[string][]time.Duration{
		"5":                        {5 * ms},
		"5\n":                      {5 * ms},
		"1\n2.5\n0\n":              {ms, 2500 * us, 0},
		"\ufeff1\r\n\r\n 2 \r\n":   {ms, 2 * ms},
		"# holds of Monday\n\n1\n": {ms},
		"0.0000005\n1e3\n.5":       {1, time.Second, 500 * us},
		"86400000\n":               {spec.MaxTime},
		"-0\n":                     {0},
	} {
		got, digest, err := ReadTimes(strings.NewReader(in))
		sum := sha256.Sum256([]byte(in))
		if err != nil || !slices.Equal(got, want) || digest != hex.EncodeToString(sum[:])[:12] {
			t.Errorf("%q is %v, %s, %v; want %v", in, got, digest, err, want)
		}
	}
	// as sha256sum has it
	if _, digest, _ := ReadTimes(strings.NewReader("1\n2\n")); digest != "a6e2b7a04068" {
		t.Errorf("the digest is %s", digest)
	}
}

func TestReadTimesErrors(t *testing.T) {
	const number = ": must be a number of milliseconds such as 12.5"
	for in, want := range map[string]string{
		"":                                "there is no time in it: there must be one number a line, in milliseconds",
		"\n\n# nothing\n":                 "there is no time in it: there must be one number a line, in milliseconds",
		"1\n-2\n":                         `line 2: must be 0 to 86400000 milliseconds (24h)`,
		"1\n\n#\nx\n":                     `line 4` + number,
		"NaN":                             `line 1` + number,
		"1\n+Inf":                         `line 2: must be 0 to 86400000 milliseconds (24h)`,
		"0x10":                            `line 1` + number,
		"0x1p4":                           `line 1` + number,
		"1_000":                           `line 1` + number,
		"1 2":                             `line 1` + number,
		"1e400":                           `line 1: must be 0 to 86400000 milliseconds (24h)`,
		"86400001":                        `line 1: must be 0 to 86400000 milliseconds (24h)`,
		"5ms":                             `line 1: must be a number of milliseconds, without a unit`,
		"1,5":                             `line 1: must be one number, with a point if it has a fraction`,
		"1\n" + strings.Repeat("0", 5000): "line 2: longer than 4096 bytes: there must be one number a line",
		"\x00\x01\x02":                    `line 1` + number,
		strings.Repeat("z", 1000):         `line 1` + number,
	} {
		if got, _, err := ReadTimes(strings.NewReader(in)); err == nil || err.Error() != want {
			t.Errorf("%.20q is %v, %v\nwant %s", in, got, err, want)
		}
	}
	broken := errors.New("the disk is gone")
	_, _, err := ReadTimes(io.MultiReader(strings.NewReader("1\n2\n"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || err.Error() != "line 3: the disk is gone" {
		t.Errorf("a broken reader: %v", err)
	}
}

// endless yields lines for ever.
type endless struct{ line string }

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e.line) <= len(p) {
		n += copy(p[n:], e.line)
	}
	return n, nil
}

func TestReadTimesEnds(t *testing.T) {
	const want = "more than 1000 lines: replay a part of it"
	for _, line := range []string{"#\n", "\n", "1\n"} {
		if _, _, err := readTimes(endless{line}, 1000); err == nil || err.Error() != want {
			t.Errorf("%q for ever: %v, want %s", line, err, want)
		}
	}
	if times, _, err := readTimes(io.LimitReader(endless{"1\n"}, 2000), 1000); len(times) != 1000 || err != nil {
		t.Errorf("as many lines as may be: %d, %v", len(times), err)
	}
}

func FuzzReadTimes(f *testing.F) {
	for _, seed := range []string{
		"1\n2.5\n", "# c\n\n1e3", "NaN", "-1", "\ufeff5", "1\r\n2", "0x1p-2", "5ms", "\x00", "9e99999",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		times, digest, err := ReadTimes(iotest.HalfReader(strings.NewReader(content)))
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x00") {
				t.Errorf("%q: the error %q is not one line", content, err)
			}
			return
		}
		if len(times) == 0 || len(digest) != spec.DigestDigits {
			t.Fatalf("%q is %v, %q", content, times, digest)
		}
		d, err := Load(spec.Must(spec.ParseTimes("file:x#"+digest)), strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		low, high := slices.Min(times), slices.Max(times)
		if low < 0 || high > spec.MaxTime || d.Mean() < low || d.Mean() > high || d.Max() != high {
			t.Errorf("%q: mean %v, max %v", content, d.Mean(), d.Max())
		}
		s, rng := &d.Samplers(1)[0], rand.NewPCG(1, 2)
		for i := range 2 * len(times) {
			if got, want := s.Next(rng), times[i%len(times)]; got != want {
				t.Fatalf("%q: draw %d is %v, want %v", content, i, got, want)
			}
		}
	})
}

func TestLoad(t *testing.T) {
	content := "10\n20\n30\n40\n5\n"
	d, err := Load(spec.Must(spec.ParseTimes("file:holds.txt")), strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(content))
	digest := hex.EncodeToString(sum[:])[:12]
	if got, want := d.String(), "file:holds.txt#"+digest; got != want {
		t.Errorf("it is %s, want %s", got, want)
	}
	if d.Mean() != 21*ms || d.Max() != 40*ms {
		t.Errorf("mean %v, max %v", d.Mean(), d.Max())
	}
	again, err := Load(spec.Must(spec.ParseTimes(d.String())), strings.NewReader(content))
	if err != nil || again.String() != d.String() {
		t.Errorf("again it is %v, %v", again, err)
	}
	_, err = Load(spec.Must(spec.ParseTimes(d.String())), strings.NewReader(content+"#\n"))
	if err == nil || !strings.Contains(err.Error(), "#"+digest+" is wanted") {
		t.Errorf("another content: %v", err)
	}
	_, err = Load(spec.Must(spec.ParseTimes("file:x")), strings.NewReader("x"))
	if err == nil || !strings.HasPrefix(err.Error(), "line 1: ") {
		t.Errorf("no times: %v", err)
	}
	_, err = Load(spec.Must(spec.ParseTimes("exp:5ms")), strings.NewReader("1"))
	if err == nil || err.Error() != "exp:5ms replays no file" {
		t.Errorf("no file: %v", err)
	}
}

// Clients begin at places spread evenly over the file, and each goes round it.
func TestReplayPlaces(t *testing.T) {
	d, err := Load(spec.Must(spec.ParseTimes("file:x")), strings.NewReader("0\n1\n2\n3\n4\n"))
	if err != nil {
		t.Fatal(err)
	}
	for clients, want := range map[int][]time.Duration{
		1:  {0},
		2:  {0, 2},
		5:  {0, 1, 2, 3, 4},
		10: {0, 0, 1, 1, 2, 2, 3, 3, 4, 4},
	} {
		samplers := d.Samplers(clients)
		for i := range samplers {
			for step := range 12 {
				if got, want := samplers[i].Next(nil), (want[i]+time.Duration(step))%5*ms; got != want {
					t.Errorf("client %d of %d draws %v, want %v", i, clients, got, want)
				}
			}
		}
	}
}

// The sum of many long times does not fit into 64 bits.
func TestMeanOfLongTimes(t *testing.T) {
	if got := mean(slices.Repeat([]time.Duration{spec.MaxTime, spec.MaxTime - 2}, 200_000)); got != spec.MaxTime-1 {
		t.Errorf("the mean is %d, want %d", got, spec.MaxTime-1)
	}
}
