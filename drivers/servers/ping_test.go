package servers

import (
	"bufio"
	"strings"
	"testing"
)

func TestAppendCommand(t *testing.T) {
	got := string(appendCommand(nil, "AUTH", "", "p\r\nw"))
	if want := "*3\r\n$4\r\nAUTH\r\n$0\r\n\r\n$4\r\np\r\nw\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReadReply(t *testing.T) {
	for _, tt := range []struct{ in, want, err string }{
		{in: "+PONG\r\n", want: "PONG"},
		{in: "+\r\n", want: ""},
		{in: "-LOADING Redis is loading\r\n", err: "LOADING Redis is loading"},
		{in: "$4\r\na\r\nb\r\n", want: "a\r\nb"},
		{in: "$0\r\n\r\n", want: ""},
		{in: "$-1\r\n", err: "no reply"},
		{in: "$99999999999\r\n", err: "no reply"},
		{in: "$x\r\n", err: "no reply"},
		{in: "$5\r\nabc", err: "EOF"},
		{in: ":1\r\n", want: "1"},
		{in: "*0\r\n", err: "no reply to expect"},
		{in: "+PONG\n", err: "no reply to expect"},
		{in: "HTTP/1.1 400 Bad Request\r\n", err: "no reply to expect"},
		{in: "+PO", err: "EOF"},
		{in: "", err: "EOF"},
		{in: "+" + strings.Repeat("x", 4096) + "\r\n", err: "too long"},
	} {
		got, err := readReply(bufio.NewReaderSize(strings.NewReader(tt.in), 512))
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%.40q: %q, %v; want %q, %s", tt.in, got, err, tt.want, tt.err)
		}
	}
}

func FuzzReadReply(f *testing.F) {
	f.Add("+PONG\r\n")
	f.Add("-ERR\r\n")
	f.Add("$2\r\nab\r\n")
	f.Add("+" + strings.Repeat("x", 600))
	f.Fuzz(func(t *testing.T, in string) {
		got, err := readReply(bufio.NewReaderSize(strings.NewReader(in), 512))
		if err == nil && !strings.HasPrefix(in, "+"+got+"\r\n") && !strings.HasPrefix(in, ":"+got+"\r\n") && !(strings.HasPrefix(in, "$") && strings.Contains(in, "\r\n"+got)) {
			t.Errorf("%q reads as %q", in, got)
		}
	})
}
