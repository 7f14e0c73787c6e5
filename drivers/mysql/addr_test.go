package mysql

import (
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers"
)

func TestParseTarget(t *testing.T) {
	for addr, want := range map[string]target{
		"db.example":                             {network: "tcp", addr: "db.example:3306"},
		"127.0.0.1:3307":                         {network: "tcp", addr: "127.0.0.1:3307"},
		"[::1]":                                  {network: "tcp", addr: "[::1]:3306"},
		"mysql://db.example":                     {network: "tcp", addr: "db.example:3306"},
		"mysql://u:p%40%2F@h:1/d":                {network: "tcp", addr: "h:1", username: "u", password: "p@/", database: "d"},
		"mariadb://u@[::1]:1/d":                  {network: "tcp", addr: "[::1]:1", username: "u", database: "d"},
		"mysql://u@localhost/d?socket=/run/my.s": {network: "unix", addr: "/run/my.s", username: "u", database: "d"},
		"unix:///run/my.s":                       {network: "unix", addr: "/run/my.s"},
		"u:p@tcp(h:1)/d":                         {network: "tcp", addr: "h:1", username: "u", password: "p", database: "d"},
		"u:p@w@unix(/run/my.s)/d":                {network: "unix", addr: "/run/my.s", username: "u", password: "p@w", database: "d"},
	} {
		got, err := parseTarget(addr)
		if err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", addr, got, err, want)
		}
		again, err := parseTarget(got.redacted())
		got.username, got.password = "", ""
		if err != nil || again != got {
			t.Errorf("%q is read back from %q as %+v, %v", addr, got.redacted(), again, err)
		}
	}
	for _, tt := range []struct{ addr, network, redacted string }{
		{"mysql://alice:sesame@h/d?tls=true", "tls", "mysql://h:3306/d?tls=true"},
		{"alice:sesame@tcp(h:1)/d?tls=skip-verify", "tls", "mysql://h:1/d?tls=skip-verify"},
		{"mysql://alice:sesame@h/d?ssl-mode=REQUIRED", "tls", "mysql://h:3306/d?tls=skip-verify"},
		{"mysql://alice:sesame@h/d?sslMode=VERIFY_IDENTITY", "tls", "mysql://h:3306/d?tls=true"},
		{"mysql://alice:sesame@h/d?sslaccept=strict", "tls", "mysql://h:3306/d?tls=true"},
		{"mysql://alice:sesame@h/d?ssl=%7B%22rejectUnauthorized%22:true%7D", "tls", "mysql://h:3306/d?tls=true"},
		{"alice:sesame@tcp(h)/d?sslmode=disabled", "tcp", "mysql://h:3306/d"},
		{"alice:sesame@unix(/s)/d", "unix", "mysql://localhost/d?socket=/s"},
		{"alice:sesame@tcp(h:1)/", "tcp", "mysql://h:1"},
	} {
		got, err := Driver.(drivers.Addressed).ReadAddr(tt.addr)
		if err != nil || got.Network != tt.network || got.Redacted != tt.redacted || got.Unverified != strings.Contains(tt.redacted, "skip-verify") {
			t.Errorf("%q: %+v, %v", tt.addr, got, err)
		}
	}
}

// An invalid address may have its password anywhere.
func TestParseTargetRefuses(t *testing.T) {
	for _, addr := range []string{
		"", "sesame:x", "h:sesame", "h:1:2", "redis://sesame@h", "mysql://u:sesame%zz@h/d", "mysql://u:sesame/@h/d",
		"u:sesame@h", "u:sesame@h/d",
		"u:sesame@udp(h)/d", "mysql://h/d?sesame=1", "mysql://h/d?tls=sesame", "mysql://h/d?socket=sesame",
		"mysql://h/d/sesame", "mysql://h/d#sesame",
		"mysql:///d", "unix://sesame", "unix:///s?sesame", "mysql://h/d?socket=/s&tls=true", "u@unix(/s)/d?tls=true",
		"mysql://h/d?%zz=sesame", "mysql://u:sesame@h/d?sslmode=preferred", "u:sesame@tcp(h)/d?sslmode=sesame", "u:sesame@tcp(h)/d?ssl-mode=x&tls=true",
		"u:sesame@tcp(h)/d?tls=true&timeout=1s", "u:sesame@tcp(h)/d?charset=utf8", "mysql://u:sesame@h/d?tls=true&tls=false", "mysql://u:sesame@h/d?connection_limit=sesame", "mysql://u:sesame@h/d?ssl-mode=PREFERRED",
		"u:sesame@tcp(h)/d?tls=true&tls=false",
	} {
		_, err := parseTarget(addr)
		if err == nil {
			t.Errorf("%q is an address", addr)
		} else if strings.Contains(err.Error(), "sesame") {
			t.Errorf("%q: the error quotes it: %v", addr, err)
		}
	}
}

func TestTargetOf(t *testing.T) {
	got, err := targetOf(drivers.Config{Addrs: []string{"mysql://u:p@h/d"}, Username: "v", Password: "q", Database: "e"})
	want := target{network: "tcp", addr: "h:3306", username: "v", password: "q", database: "e"}
	if err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}
