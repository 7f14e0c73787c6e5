package capacity

import (
	"math"
	"testing"
	"time"
)

func TestParseSLO(t *testing.T) {
	for text, want := range map[string]string{
		"response.p99<20ms":                               "response.p99<20ms",
		" errors < 0.1% ,\n response.p99 < 20ms ":         "response.p99<20ms,errors<0.1%",
		"response.p99.9<1s,response.p50<5ms,violations=0": "response.p50<5ms,response.p99.9<1s",
		"response.p999<1500ms,errors<0.005":               "response.p99.9<1.5s,errors<0.5%",
		"violations = 0,response.p90<250us":               "response.p90<250µs",
		"acquire.p95<500ms,errors<1%":                     "acquire.p95<500ms,errors<1%",
	} {
		s, err := ParseSLO(text)
		if err != nil || s.Text != want {
			t.Errorf("%q: %q, %v; want %q", text, s.Text, err, want)
		}
		if again, err := ParseSLO(s.Text); err != nil || again.Text != s.Text {
			t.Errorf("%q: read again %q, %v", s.Text, again.Text, err)
		}
	}
	s, _ := ParseSLO("response.p99<20ms,errors<0.1%")
	if o := s.Strictest(); o.Limit != 20*time.Millisecond || math.Abs(o.Allowed()-0.01) > 1e-12 || s.Errors != 0.001 || !s.HasErrors || s.Closed {
		t.Errorf("%+v", s)
	}
}

func TestSLOFaults(t *testing.T) {
	for _, text := range []string{
		"", "response.p99<20ms,", "errors<0.1%", "response.p99", "response.p99>20ms", "response.p99<=20ms", "response.p99≤20ms",
		"response.p99=20ms", "response.p99<", "response.p99<20", "response.p99<0s", "response.p99<-1ms", "response.p99<2h",
		"locks/s<5", "response.max<20ms", "response.mean<20ms", "response<20ms", "response.p10<20ms", "response.p100<20ms",
		"response.p99.999<20ms", "response.99<20ms", "response.p99<20ms,response.p99<30ms", "response.p99<20ms,response.p50<30ms",
		"errors<1%,errors<2%,response.p99<1s", "errors<0%,response.p99<1s", "errors<100%,response.p99<1s", "errors<5,response.p99<1s",
		"violations<1,response.p99<1s", "violations=2,response.p99<1s",
		"acquire.p99<20ms,response.p50<5ms",
	} {
		if s, err := ParseSLO(text); err == nil {
			t.Errorf("%q: %+v", text, s)
		}
	}
}

func FuzzParseSLO(f *testing.F) {
	f.Add("response.p99<20ms,errors<0.1%,violations=0")
	f.Add("acquire.p9999 < 1m ,acquire.p50<1us")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSLO(text)
		if err != nil {
			return
		}
		if again, err := ParseSLO(s.Text); err != nil || again.Text != s.Text {
			t.Errorf("%q: %q, read again %q, %v", text, s.Text, again.Text, err)
		}
	})
}
