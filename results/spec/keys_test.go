package spec

import (
	"strings"
	"testing"
)

func TestParseKeys(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "",
		"uniform":                         "",
		"100%*uniform":                    "",
		"uniform@0-9":                     "uniform@0-9",
		"zipf:1.10":                       "zipf:1.1",
		"zipf:1":                          "zipf:1",
		"zipf:.5@1_0-1k":                  "zipf:0.5@10-1000",
		"hot:0.8:10":                      "hot:80%:10",
		"hot:80%:1k@5-9999":               "hot:80%:1000@5-9999",
		"sequential":                      "sequential",
		"own@64-127":                      "own@64-127",
		"30%*own+70%*zipf:1.1":            "70%*zipf:1.1+30%*own",
		" 50% * own + 50% * hot:80%:1 ":   "50%*hot:80%:1+50%*own",
		"0.1*own+.2*uniform+0.7*zipf:2":   "70%*zipf:2+20%*uniform+10%*own",
		"33.3%*own@0-9+66.7%*own@10-19":   "66.7%*own@10-19+33.3%*own@0-9",
		"50%*sequential@0-4+50%*uniform":  "50%*sequential@0-4+50%*uniform",
		"12.5%*zipf:0.99+87.5%*zipf:0.98": "87.5%*zipf:0.98+12.5%*zipf:0.99",
	} {
		if got, err := ParseKeys(in); err != nil || got.String() != want {
			t.Errorf("%q is %q, %v; want %q", in, got.String(), err, want)
		} else if got.Uniform() != (want == "") {
			t.Errorf("%q: Uniform is %t", in, got.Uniform())
		}
	}
}

func TestEven(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "sequential": true, "50%*sequential+50%*uniform": true,
		"uniform@0-9": false, "sequential@0-9": false, "zipf:0.99": false, "hot:80%:1": false, "own": false, "90%*uniform+10%*zipf:1": false,
	} {
		if got := Must(ParseKeys(text)).Even(); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

const (
	wantKeys     = "must be uniform, zipf:1.1, hot:80%:10, sequential, own, or a mix such as 70%*zipf:1.1+30%*own"
	wantExponent = "must be an exponent from 0.001 to 20, as in zipf:0.99 (the greater, the more on the first keys)"
	wantRange    = "must be the first and the last key, as in uniform@10-19"
	wantSecond   = "must not be a second own: write it once, with the sum of the weights"
	wantPercent  = "must have a percent sign or be below 1, as in "
)

func TestParseKeysErrors(t *testing.T) {
	for in, want := range map[string]string{
		" ":                                      wantKeys,
		"pareto":                                 wantKeys,
		"zipfian":                                "must be written zipf:0.99 here",
		"Zipf:1.1":                               "must be written zipf:0.99 here",
		"20%*hotspot+80%*x":                      `"hotspot" at character 5: must be written hot:80%:10 here`,
		"zipf":                                   "must be written with its figures, as in zipf:0.99",
		"hot":                                    "must be written with its figures, as in hot:80%:10",
		"zipf:":                                  "nothing at character 6: " + wantExponent,
		"zipf:0":                                 `"0" at character 6: ` + wantExponent,
		"zipf:-1":                                `"-1" at character 6: ` + wantExponent,
		"zipf:nan":                               `"nan" at character 6: ` + wantExponent,
		"zipf:21":                                `"21" at character 6: ` + wantExponent,
		"70%*zipf:x+30%*own":                     `"x" at character 10: ` + wantExponent,
		"hot:":                                   "nothing at character 5: must be the hot keys' share of the traffic and their number, as in hot:80%:10",
		"hot:80%":                                "nothing at character 8: must be the number of hot keys, as in hot:80%:10",
		"hot:80%:0":                              `"0" at character 9: must be the number of hot keys, as in hot:80%:10`,
		"hot:80%:ten":                            `"ten" at character 9: must be the number of hot keys, as in hot:80%:10`,
		"hot:80%:9999999999":                     `"9999999999" at character 9: must be the number of hot keys, as in hot:80%:10`,
		"hot:80:10":                              `"80" at character 5: ` + wantPercent + "80% or 0.8",
		"hot:100%:10":                            `"100%" at character 5: must be more than 0% and less than 100%; for a part of the keys alone write uniform@0-9`,
		"hot:80%:10@0-9":                         `"hot:80%:10" at character 1: must have fewer hot keys than there are in 0-9, which are 10`,
		"own:3":                                  "must be own alone: there is nothing to set",
		"uniform:1-9":                            "must be uniform alone: there is nothing to set",
		"uniform@":                               "nothing at character 9: " + wantRange,
		"uniform@3":                              `"3" at character 9: ` + wantRange,
		"uniform@9-3":                            `"9-3" at character 9: must name the lower key first, as in uniform@3-9`,
		"uniform@-3-9":                           `"-3-9" at character 9: ` + wantRange,
		"own+50%*uniform":                        `"own" at character 1: must have its weight before it, as in 30%*own`,
		"own+":                                   `"own" at character 1: must have its weight before it, as in 30%*own`,
		"50%*own+":                               `nothing at character 9: must be one of uniform, zipf, hot, sequential, own`,
		"50%*own+40%*zipf:1":                     "must have weights that add up to 100%, and they are 90%",
		"90%*own":                                "must have weights that add up to 100%, and they are 90%",
		"60%*own+50%*zipf:1":                     "must have weights that add up to 100%, and they are 110%",
		"0%*own+100%*zipf:1":                     `"0%" at character 1: must be more than 0%`,
		"7*own+93%*zipf:1":                       `"7" at character 1: ` + wantPercent + "7% or 0.07",
		"x*own":                                  `"x" at character 1: must be a share such as 10% or 0.1`,
		"50%*own+50%*own":                        `"50%*own" at character 9: ` + wantSecond,
		"  50% * own +  5 % * zipf:x":            `"x" at character 27: ` + wantExponent,
		"äöü*own":                                `"äöü" at character 1: must be a share such as 10% or 0.1`,
		"50%*own+50%*äöü:zz":                     `"äöü" at character 13: must be one of uniform, zipf, hot, sequential, own`,
		strings.Repeat("5%*own+", 20) + "5%*own": "must have no more than 16 parts, and there are 21",
	} {
		if got, err := ParseKeys(in); err == nil || err.Error() != want {
			t.Errorf("%q is %q, %v\nwant %s", in, got.String(), err, want)
		}
	}
}

func TestKeysCheck(t *testing.T) {
	for _, tt := range []struct {
		text          string
		keys, clients int
		want          string // of the error
	}{
		{"", 1, 1, ""},
		{"", 0, 1, "there must be a key and a client"},
		{"zipf:1", 1, 100, ""},
		{"hot:80%:10", 11, 1, ""},
		{"hot:80%:10", 10, 1, "hot:80%:10: there must be more keys than hot ones, and there are 10"},
		{"own", 64, 64, ""},
		{"own", 63, 64, "own: there must be a key for each client, and there are 63 keys for 64 clients"},
		{"own", 1, 2, "own: there must be a key for each client, and there are 1 key for 2 clients"},
		{"own@10-19", 20, 10, ""},
		{"own@10-19", 20, 11, "own@10-19: there must be a key for each client, and there are 10 keys for 11 clients"},
		{"uniform@10-19", 20, 1, ""},
		{"uniform@10-19", 19, 1, "uniform@10-19: the last of 19 keys is 18"},
		{"70%*uniform@0-9+30%*own@10-19", 15, 1, "own@10-19: the last of 15 keys is 14"},
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
