package drivers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

const password = "hunter2"

// TestSecretIsNeverPrinted tries every verb, because fmt calls a Stringer only for some.
func TestSecretIsNeverPrinted(t *testing.T) {
	secret := drivers.Secret(password)
	cfg := drivers.Config{Lock: "set-nx", Password: secret}
	leaks := []string{password, fmt.Sprintf("%x", password), fmt.Sprintf("%X", password), "104", "0x68"} // 'h' in numbers
	check := func(how, printed string) {
		t.Helper()
		for _, leak := range leaks {
			if strings.Contains(printed, leak) {
				t.Errorf("%s shows the password: %s", how, printed)
			}
		}
	}
	for verb := '!'; verb <= '~'; verb++ {
		if verb == 'p' || verb == 'w' {
			continue // fmt calls no method of the value for these; go vet rejects them
		}
		for _, flags := range []string{"", "+", "#", " ", "-9", "09", ".3"} {
			format := "%" + flags + string(verb)
			for _, v := range []any{secret, &secret, cfg, &cfg, []drivers.Secret{secret}, map[drivers.Secret]int{secret: 1}} {
				check(fmt.Sprintf("%s of %T", format, v), fmt.Sprintf(format, v))
			}
		}
	}
	check("Sprint", fmt.Sprint(secret))
	check("String", secret.String())
	check("an error", fmt.Errorf("open %v: %w", secret, fmt.Errorf("%s", secret)).Error())
	for _, v := range []any{secret, []any{secret}, map[string]drivers.Secret{"x": secret}, cfg.Password, struct{ P *drivers.Secret }{&secret}} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		check("JSON", string(b))
	}
	var b bytes.Buffer
	timeless := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { // a time may have any digits
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	for _, h := range []slog.Handler{slog.NewTextHandler(&b, timeless), slog.NewJSONHandler(&b, timeless)} {
		slog.New(h).Info("open", "password", secret, "config", cfg.Password)
		check("slog", b.String())
	}
}

// TestConfigHidesAddresses checks that a password in a URL is not printed with its Config.
func TestConfigHidesAddresses(t *testing.T) {
	cfg := drivers.Config{Lock: "set-nx", Addrs: []string{"redis://bench:" + password + "@db:6379/2", "u:" + password + "@db:1", "db:1",
		"host=db user=me password=" + password, "postgres://db/locks?user=me&password=" + password, "me:x@tcp(db)/locks?password=" + password}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		for _, v := range []any{cfg, &cfg, []drivers.Config{cfg}} {
			if text := fmt.Sprintf(verb, v); strings.Contains(text, password) {
				t.Errorf("%s of a %T shows the password: %s", verb, v, text)
			}
		}
	}
	if text := fmt.Sprintf("%+v", cfg); !strings.Contains(text, "[redis://***@db:6379/2 ***@db:1 db:1 *** postgres://db/locks?*** ***@tcp(db)/locks?***]") || !strings.Contains(text, "Lock:set-nx") {
		t.Errorf("a Config is printed as %s", text)
	}
}

// TestSecretSaysWhetherItIsSet checks that a missing password looks different from a hidden one.
func TestSecretSaysWhetherItIsSet(t *testing.T) {
	for _, test := range []struct {
		format string
		secret drivers.Secret
		want   string
	}{
		{"%s", password, "***"},
		{"%v", password, "***"},
		{"%+v", password, "***"},
		{"%q", password, `"***"`},
		{"%#v", password, `"***"`},
		{"%s", "", ""},
		{"%v", "", ""},
		{"%q", "", `""`},
		{"%#v", "", `""`},
	} {
		if got := fmt.Sprintf(test.format, test.secret); got != test.want {
			t.Errorf("%s of a secret of %d bytes prints %s, want %s", test.format, len(test.secret), got, test.want)
		}
	}
	if got := string(drivers.Secret(password)); got != password {
		t.Errorf("the secret itself is %q", got)
	}
}

func TestIOTimeoutDefault(t *testing.T) {
	for _, test := range []struct{ set, want time.Duration }{
		{0, drivers.DefaultIOTimeout}, {-time.Second, drivers.DefaultIOTimeout}, {time.Second, time.Second},
	} {
		if got := (drivers.Config{IOTimeout: test.set}).IO(); got != test.want {
			t.Errorf("IOTimeout %v gives %v, want %v", test.set, got, test.want)
		}
	}
}

func TestOneServer(t *testing.T) {
	for _, test := range []struct {
		cfg   drivers.Config
		fault string
	}{
		{drivers.Config{Addrs: []string{"a"}}, ""},
		{drivers.Config{Addrs: []string{"a"}, Topology: drivers.TopologySingle}, ""},
		{drivers.Config{}, "0 addresses"},
		{drivers.Config{Addrs: []string{"a", "b"}}, "2 addresses"},
		{drivers.Config{Addrs: []string{"a"}, Topology: drivers.TopologyCluster}, "topology cluster"},
	} {
		if err := test.cfg.OneServer(); (err != nil) != (test.fault != "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("OneServer of %v says %v; want %q", test.cfg, err, test.fault)
		}
	}
}
