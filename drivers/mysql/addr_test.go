package mysql

import (
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers"
)

func TestReadAddr(t *testing.T) {
	for _, tt := range []struct{ addr, user, password, network, redacted string }{
		{"db.example", "", "", "tcp", "mysql://db.example:3306"},
		{"127.0.0.1:3307", "", "", "tcp", "mysql://127.0.0.1:3307"},
		{"[::1]", "", "", "tcp", "mysql://[::1]:3306"},
		{"mysql://u:p%40%2F@h:1/d", "u", "p@/", "tcp", "mysql://h:1/d"},
		{"mariadb://u@[::1]:1/d", "u", "", "tcp", "mysql://[::1]:1/d"},
		{"mysql://u@localhost/d?socket=/run/my.s", "u", "", "unix", "mysql://localhost/d?socket=/run/my.s"},
		{"unix:///run/my.s", "", "", "unix", "mysql://localhost?socket=/run/my.s"},
		{"u:p@tcp(h:1)/d", "u", "p", "tcp", "mysql://h:1/d"},
		{"u:p@tcp(h:1)/", "u", "p", "tcp", "mysql://h:1"},
		{"u:p@w@unix(/run/my.s)/d", "u", "p@w", "unix", "mysql://localhost/d?socket=/run/my.s"},
		{"mysql://h/d?tls=true", "", "", "tls", "mysql://h:3306/d?tls=true"},
		{"u:p@tcp(h:1)/d?tls=skip-verify", "u", "p", "tls", "mysql://h:1/d?tls=skip-verify"},
		{"mysql://h/d?ssl-mode=REQUIRED", "", "", "tls", "mysql://h:3306/d?tls=skip-verify"},
		{"mysql://h/d?sslMode=VERIFY_IDENTITY", "", "", "tls", "mysql://h:3306/d?tls=true"},
		{"mysql://h/d?sslaccept=strict", "", "", "tls", "mysql://h:3306/d?tls=true"},
		{"mysql://h/d?ssl=%7B%22rejectUnauthorized%22:true%7D", "", "", "tls", "mysql://h:3306/d?tls=true"},
		{"u@tcp(h)/d?sslmode=disabled", "u", "", "tcp", "mysql://h:3306/d"},
	} {
		for _, addr := range []string{tt.addr, tt.redacted} {
			got, err := Driver.(drivers.Addressed).ReadAddr(addr)
			unverified := strings.Contains(tt.redacted, "skip-verify")
			if err != nil || got.Network != tt.network || got.Redacted != tt.redacted || got.Unverified != unverified {
				t.Errorf("%q: %+v, %v", addr, got, err)
			}
			if addr == tt.addr && (got.User != tt.user || string(got.Password) != tt.password) {
				t.Errorf("%q logs in as %q with %q", addr, got.User, string(got.Password))
			}
		}
	}
}

// An invalid address may have its password anywhere.
func TestReadAddrRefuses(t *testing.T) {
	for _, addr := range []string{
		"", "sesame:x", "h:sesame", "h:1:2", "redis://sesame@h", "mysql://u:sesame%zz@h/d", "mysql://u:sesame/@h/d",
		"u:sesame@h", "u:sesame@h/d", "u:sesame@udp(h)/d", "( )/", "unix(0)/", "[::%0#",
		"mysql://h/d?sesame=1", "mysql://h/d?tls=sesame", "mysql://h/d?socket=sesame",
		"mysql://h/d/sesame", "mysql://h/d#sesame", "mysql:///d", "unix://sesame", "unix:///s?sesame",
		"mysql://h/d?socket=/s&tls=true", "u@unix(/s)/d?tls=true", "mysql://h/d?%zz=sesame",
		"mysql://u:sesame@h/d?sslmode=preferred", "u:sesame@tcp(h)/d?sslmode=sesame", "mysql://u:sesame@h/d?ssl-mode=PREFERRED",
		"u:sesame@tcp(h)/d?tls=true&timeout=1s", "u:sesame@tcp(h)/d?charset=utf8", "mysql://u:sesame@h/d?connection_limit=sesame",
		"mysql://u:sesame@h/d?tls=true&tls=false", "u:sesame@tcp(h)/d?tls=true&tls=false",
	} {
		_, err := Driver.(drivers.Addressed).ReadAddr(addr)
		if err == nil {
			t.Errorf("%q is an address", addr)
		} else if strings.Contains(err.Error(), "sesame") {
			t.Errorf("%q: the error quotes it: %v", addr, err)
		}
	}
}

func TestTargetOf(t *testing.T) {
	got, err := targetOf(drivers.Config{Addrs: []string{"mysql://u:p@h/d"}, Username: "v", Password: "q", Database: "e"})
	if err != nil || got.User != "v" || got.Passwd != "q" || got.DBName != "e" || got.Addr != "h:3306" {
		t.Errorf("%+v, %v", got, err)
	}
}
