package drivers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// parametrised is a driver with one option of each kind.
type parametrised struct{ drivers.Driver }

func (parametrised) Params() []drivers.Param {
	return []drivers.Param{
		drivers.IntParam("tries", "32", 1, ""),
		drivers.TimeParam("delay", "50ms", ""),
		drivers.ShareParam("drift", "0.01", ""),
		drivers.SwitchParam("fast", "false", ""),
		drivers.ChoiceParam("retry", "none", "", "none", "linear"),
	}
}

func TestReadParams(t *testing.T) {
	v, err := drivers.ReadParams(parametrised{}, map[string]string{"tries": "7", "fast": "true", "drift": "1"})
	if err != nil {
		t.Fatal(err)
	}
	if v.Int("tries") != 7 || v.Time("delay") != 50*time.Millisecond || v.Share("drift") != 1 || !v.On("fast") || v["retry"] != "none" {
		t.Errorf("got %v", v)
	}
}

func TestReadParamsRefuses(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"tires", "1", `unknown parameter "tires"; there are tries, delay, drift, fast, retry`},
		{"tries", "0", "parameter tries=0: must be a whole number from 1"},
		{"tries", "", "parameter tries=: must be a whole number"},
		{"tries", "many", "must be a whole number from 1"},
		{"delay", "-1ms", "not negative"},
		{"delay", "50", "must be a time such as"},
		{"drift", "1.1", "must be a number from 0 to 1"},
		{"drift", "NaN", "must be a number from 0 to 1"},
		{"fast", "yes", "must be one of true, false"},
		{"retry", "expo", "must be one of none, linear"},
	} {
		_, err := drivers.ReadParams(parametrised{}, map[string]string{tt.name: tt.value})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s=%s: %v; want %q", tt.name, tt.value, err, tt.want)
		}
	}
	_, err := drivers.ReadParams(struct{ drivers.Driver }{}, map[string]string{"tries": "1"})
	if err == nil || !strings.Contains(err.Error(), "there are none") {
		t.Errorf("a driver without parameters: %v", err)
	}
}
