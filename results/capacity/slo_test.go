package capacity

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestParseSLO(t *testing.T) {
	for _, c := range []struct {
		text, want string
	}{
		{"response.p99<20ms", "response.p99<20ms"},
		{" errors < 0.1% ,\n response.p99 < 20ms ", "response.p99<20ms,errors<0.1%"},
		{"response.p99.9<1s,response.p50<5ms,violations=0", "response.p50<5ms,response.p99.9<1s"},
		{"response.p999<1500ms,errors<0.005", "response.p99.9<1.5s,errors<0.5%"},
		{"response.p9999<1m", "response.p99.99<1m"},
		{"violations = 0,response.p90<250us", "response.p90<250µs"},
	} {
		s, err := ParseSLO(c.text)
		if err != nil || s.String() != c.want {
			t.Errorf("%q: %q, %v; want %q", c.text, s, err, c.want)
			continue
		}
		if again, err := ParseSLO(s.String()); err != nil || again.Text != s.Text {
			t.Errorf("%q: read again %q, %v", s, again, err)
		}
	}
	s, _ := ParseSLO("response.p99<20ms,errors<0.1%")
	if o := s.Strictest(); o.Limit != 20*time.Millisecond || math.Abs(o.Allowed()-0.01) > 1e-12 || s.Errors != 0.001 || !s.HasErrors {
		t.Errorf("%+v", s)
	}
}

func TestSLOFaults(t *testing.T) {
	for _, c := range []struct {
		text   string
		column int
		what   string // a part of it: what is wrong, or the remedy
	}{
		{"", 1, "a condition such as response.p99<20ms"},
		{"response.p99<20ms,", 19, "a condition such as"},
		{"errors<0.1%", 12, "a limit of the response has to be there too"},
		{"response.p99", 13, "belongs < and a limit"},
		{"response.p99>20ms", 13, "with < alone"},
		{"response.p99<=20ms", 13, "with < alone"},
		{"response.p99≤20ms", 13, "with < alone"},
		{"response.p99=20ms", 13, "with < alone"},
		{"response.p99<", 14, "a time such as 20ms"},
		{"response.p99<20", 14, "must be a time with its unit such as 250us, 1.5ms, 30s or 2m"},
		{"response.p99<0s", 14, "no response takes less"},
		{"response.p99<-1ms", 14, "no response takes less"},
		{"response.p99<2h", 14, "beyond 1h"},
		{"acquire.p99<20ms", 1, `for "acquire.p99"`},
		{"locks/s<5", 1, `for "locks/s"`},
		{"response.max<20ms", 1, "no trial can bound the longest"},
		{"response.mean<20ms", 1, "a mean hides"},
		{"response<20ms", 1, "which quantile"},
		{"response.p10<20ms", 1, "response.p50 to response.p99.99"},
		{"response.p100<20ms", 1, "response.p50 to"},
		{"response.p99.999<20ms", 1, "response.p50 to"},
		{"response.99<20ms", 1, "response.p50 to"},
		{"response.p99<20ms,response.p99<30ms", 19, "has a limit already"},
		{"response.p99<20ms,response.p50<30ms", 19, "response.p50<30ms says nothing beside response.p99<20ms"},
		{"response.p50<30ms,response.p99<20ms", 19, "response.p50<30ms says nothing beside response.p99<20ms"},
		{"errors<1%,errors<2%,response.p99<1s", 11, "has a limit already"},
		{"errors<0%,response.p99<1s", 8, "nothing is below 0"},
		{"errors<100%,response.p99<1s", 8, "every arrival"},
		{"errors<5,response.p99<1s", 8, "percent sign"},
		{"violations<1,response.p99<1s", 1, "violations=0"},
		{"violations=2,response.p99<1s", 1, "violations=0"},
		{"violations=0,violations=0,response.p99<1s", 14, "has a limit already"},
		{"response.p50<5µs,response.p99>1s", 30, "with < alone"}, // columns count characters
	} {
		_, err := ParseSLO(c.text)
		var fault *SLOError
		if !errors.As(err, &fault) || fault.Column != c.column || !strings.Contains(fault.What, c.what) {
			t.Errorf("%q: %v; want column %d: …%s…", c.text, err, c.column, c.what)
			continue
		}
	}
}

func FuzzParseSLO(f *testing.F) {
	f.Add("response.p99<20ms,errors<0.1%,violations=0")
	f.Add("response.p9999 < 1m ,response.p50<1us")
	f.Add("≤,<é")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSLO(text)
		if err != nil {
			var fault *SLOError
			if !errors.As(err, &fault) || fault.Column < 1 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if again, err := ParseSLO(s.String()); err != nil || again.Text != s.Text {
			t.Errorf("%q: %q, read again %q, %v", text, s, again, err)
		}
	})
}
