package spec

import "testing"

func TestParseKeys(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "uniform": "", "sequential": "sequential", "own": "own", "zipf:1.10": "zipf:1.1", "zipf:.5": "zipf:0.5", "zipf:20": "zipf:20",
		"hot:0.8:10": "hot:80%:10", "hot:80%:1k": "hot:80%:1000",
	} {
		got, err := ParseKeys(in)
		if err != nil || got.String() != want {
			t.Errorf("%q is %q, %v; want %q", in, got, err, want)
		}
		if again, err := ParseKeys(got.String()); err != nil || again != got {
			t.Errorf("%q is %+v, and read again %+v, %v", in, got, again, err)
		}
	}
	for _, in := range []string{
		" ", "pareto", "Zipf:1.1", ":", "own:3", "own:", "uniform:1-9", "uniform@0-9", "70%*zipf:1.1+30%*own",
		"zipf", "zipf:", "zipf:0", "zipf:-1", "zipf:nan", "zipf:inf", "zipf:21", "zipf:1:2",
		"hot", "hot:", "hot:80%", "hot:80%:0", "hot:80%:ten", "hot:80%:9999999999", "hot:80:10", "hot:100%:10", "hot:0%:10", "hot:80%:-1",
	} {
		if got, err := ParseKeys(in); err == nil || err.Error() != keyForms || got != (Keys{}) {
			t.Errorf("%q is %q, %v", in, got, err)
		}
	}
}

// TestOldKeys: an old record may have a mix, or a part of the keys, which no flag takes. It is shown as it is written.
func TestOldKeys(t *testing.T) {
	for _, text := range []string{"70%*zipf:1.1+30%*own", "uniform@0-9"} {
		var k Keys
		if err := k.UnmarshalText([]byte(text)); err != nil || k.String() != text || k == (Keys{}) || k.Needs(2) != 1 {
			t.Errorf("%s: %+v, %v", text, k, err)
		}
	}
	if err := new(Keys).UnmarshalText([]byte("zipf:x")); err == nil {
		t.Error("an exponent may be anything")
	}
}

func TestKeysNeeds(t *testing.T) {
	for text, want := range map[string]int{"": 1, "zipf:1": 1, "sequential": 1, "hot:80%:10": 11, "own": 64} {
		if got := Must(ParseKeys(text)).Needs(64); got != want {
			t.Errorf("%q needs %d keys, want %d", text, got, want)
		}
	}
}
