package spec

import "testing"

func TestParseMaxErrors(t *testing.T) {
	for text, want := range map[string]struct {
		m    MaxErrors
		text string
	}{
		"":      {MaxErrors{}, ""},
		"1":     {MaxErrors{Count: 1}, "1"},
		"0100":  {MaxErrors{Count: 100}, "100"},
		"5%":    {MaxErrors{Share: 0.05}, "5%"},
		"0.10%": {MaxErrors{Share: 0.001}, "0.1%"},
		"100%":  {MaxErrors{Share: 1}, "100%"},
		"33.3%": {MaxErrors{Share: 0.333}, "33.3%"},
		"7%":    {MaxErrors{Share: 0.07}, "7%"},

		"0.0000001%": {MaxErrors{Share: 1e-9}, "0.0000001%"},
	} {
		m, err := ParseMaxErrors(text)
		if err != nil || m.Count != want.m.Count || m.Share-want.m.Share > 1e-12 || want.m.Share-m.Share > 1e-12 || m.String() != want.text {
			t.Errorf("%q is %+v, %q (%v); want %+v, %q", text, m, m, err, want.m, want.text)
		}
	}
	for _, text := range []string{"0", "-1", "0%", "-5%", "101%", "NaN%", "%", "5 %", "five", "1.5", "1e3", " 1", "99999999999999999999"} {
		if m, err := ParseMaxErrors(text); err == nil {
			t.Errorf("%q is taken for %+v", text, m)
		}
	}
}

func FuzzParseMaxErrors(f *testing.F) {
	f.Add("100")
	f.Add("12.5%")
	f.Add("0.0000001%")
	f.Add("5e-324%")
	f.Add("1e-320%")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMaxErrors(text)
		if err != nil {
			return
		}
		again, err := ParseMaxErrors(m.String())
		if err != nil || again.String() != m.String() {
			t.Errorf("%q is %q, which is %q (%v)", text, m, again, err)
		}
	})
}
