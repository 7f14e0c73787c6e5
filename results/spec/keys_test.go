package spec

import "testing"

func TestParseKeys(t *testing.T) {
	for in, want := range map[string]string{
		"":           "",
		"uniform":    "",
		"zipf:1.10":  "zipf:1.1",
		"zipf:.5":    "zipf:0.5",
		"zipf:20":    "zipf:20",
		"hot:0.8:10": "hot:80%:10",
		"hot:80%:1k": "hot:80%:1000",
		"sequential": "sequential",
		"own":        "own",
	} {
		got, err := ParseKeys(in)
		if err != nil || got.String() != want || got.Uniform() != (want == "") {
			t.Errorf("%q is %q, %v; want %q", in, got.String(), err, want)
		}
		if again, err := ParseKeys(got.String()); err != nil || again != got {
			t.Errorf("%q is %+v, and read again %+v, %v", in, got, again, err)
		}
	}
}

func TestEven(t *testing.T) {
	for text, want := range map[string]bool{"": true, "sequential": true, "zipf:0.99": false, "hot:80%:1": false, "own": false} {
		if got := Must(ParseKeys(text)).Even(); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

func TestParseKeysErrors(t *testing.T) {
	const (
		all  = "must be uniform, zipf:1.1, hot:80%:10, sequential or own"
		zipf = "must be zipf:1.1, with an exponent from 0.001 to 20"
		hot  = "must be hot:80%:10, with a share between 0% and 100% and a number of keys"
	)
	for in, want := range map[string]string{
		" ": all, "pareto": all, "Zipf:1.1": all, "zipf": all, "hot": all, "own:3": all, "uniform:1-9": all, "uniform@0-9": all,
		"70%*zipf:1.1+30%*own": all,
		"zipf:":                zipf, "zipf:0": zipf, "zipf:-1": zipf, "zipf:nan": zipf, "zipf:inf": zipf, "zipf:21": zipf, "zipf:1@0-9": zipf,
		"hot:": hot, "hot:80%": hot, "hot:80%:0": hot, "hot:80%:ten": hot, "hot:80%:9999999999": hot, "hot:80:10": hot, "hot:100%:10": hot,
		"hot:0%:10": hot, "hot:80%:-1": hot,
	} {
		if got, err := ParseKeys(in); err == nil || err.Error() != want || got != (Keys{}) {
			t.Errorf("%q is %q, %v\nwant %s", in, got.String(), err, want)
		}
	}
}

// TestOldKeys: an old record may have a mix, or a part of the keys, which no flag takes. It is shown as it is written.
func TestOldKeys(t *testing.T) {
	for _, text := range []string{"70%*zipf:1.1+30%*own", "uniform@0-9"} {
		var k Keys
		if err := k.UnmarshalText([]byte(text)); err != nil || k.String() != text || k.Uniform() || k.Even() || k.Check(1, 2) != nil {
			t.Errorf("%s: %+v, %v", text, k, err)
		}
	}
	if err := new(Keys).UnmarshalText([]byte("zipf:x")); err == nil {
		t.Error("an exponent may be anything")
	}
}

func TestKeysCheck(t *testing.T) {
	for _, tt := range []struct {
		text          string
		keys, clients int
		want          string // of the error
	}{
		{"", 1, 1, ""},
		{"zipf:1", 1, 100, ""},
		{"hot:80%:10", 11, 1, ""},
		{"hot:80%:10", 10, 1, "there must be more keys than hot ones, and there are 10"},
		{"own", 64, 64, ""},
		{"own", 63, 64, "there must be a key for each client, and there are 63 keys for 64 clients"},
		{"own", 1, 2, "there must be a key for each client, and there are 1 key for 2 clients"},
	} {
		got := ""
		if err := Must(ParseKeys(tt.text)).Check(tt.keys, tt.clients); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q, %d keys, %d clients: %q, want %q", tt.text, tt.keys, tt.clients, got, tt.want)
		}
	}
}
