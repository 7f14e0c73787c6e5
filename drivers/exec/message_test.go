package exec

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers/lines"
)

// What is written and read by hand is what encoding/json writes and reads.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		`{"id":7,"at_ns":5,"held":true,"owner":"o","fence":3,"valid_ns":9}`, `{"id": 1, "owned": false}`, `{"id":01}`, `{"id":1,}`,
		`{"id":1,"owner":"a\"b"}`, `{"id":1,"held":"true"}`, `{"id":1,"fence":18446744073709551615}`, `{"id":-1}`, `{"id":1,"x":1}`, `{,"id":1}`,
		`{"id":1,"op":"try","session":2,"lease":3,"key":"k","owner":"é","ttl_ns":5}`, `{"id":1 ,"held":true}`, `{}`, `{"id":true}`, `{"id":1}x`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := decodeLine([]byte(text))
		want, wantErr := lines.Decode[line]([]byte(text))
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(l, want) {
			t.Errorf("%q: %+v, %v; want %+v, %v", text, l, err, want, wantErr)
		}
		r, err := decodeRequest([]byte(text))
		wantR, wantErr := lines.Decode[request]([]byte(text))
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(r, wantR) {
			t.Errorf("%q: %+v, %v; want %+v, %v", text, r, err, wantR, wantErr)
		}
	})
}

func TestEncodings(t *testing.T) {
	r := &request{lines.RequestHeader{ID: 1, Op: "try", Timeout: time.Second}, 2, 3, "k\"é", "o", time.Second, 7}
	held := true
	l := &line{LineHeader: lines.LineHeader{ID: 1, At: 5}, Held: &held, Owned: &held, Owner: "<o>", Valid: 3, Fence: 7}
	for _, v := range []lines.Appender{r, l} {
		text, ok := v.Append(nil)
		want, err := json.Marshal(v)
		var got, wanted map[string]any
		if err != nil || !ok || json.Unmarshal(text, &got) != nil || json.Unmarshal(want, &wanted) != nil || !reflect.DeepEqual(got, wanted) {
			t.Errorf("%s, want %s, %v", text, want, err)
		}
	}
}
