package results

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// FuzzPayload: what the decoder takes for a payload of lockbench's own is one for the library too, with the same counts.
func FuzzPayload(f *testing.F) {
	for _, l := range sampleLatencies() {
		f.Add(l.HDR)
		f.Add(l.HDR[:len(l.HDR)/2])
	}
	f.Add(latencyOf(hdrhistogram.NewPacked(1, 1<<50, 2), 0).HDR)
	coarse := hdrhistogram.NewPacked(lowestValue, highestValue, 2)
	if err := coarse.RecordValue(1e6); err != nil {
		f.Fatal(err)
	}
	f.Add(latencyOf(coarse, 0).HDR)
	long, err := base64.StdEncoding.DecodeString(latencyOf(newHistogram(), 0).HDR)
	if err != nil {
		f.Fatal(err)
	}
	binary.BigEndian.PutUint32(long[4:], uint32(len(long))) // eight more than there are
	f.Add(base64.StdEncoding.EncodeToString(long))
	f.Fuzz(agreeWithLibrary)
}

func agreeWithLibrary(t *testing.T, payload string) {
	var d decoder
	c, total, ok := d.decode(payload)
	if !ok {
		return
	}
	h, err := hdrhistogram.Decode([]byte(payload))
	if err != nil {
		t.Fatalf("%d values, which for the library are %v", total, err)
	}
	if !h.Equals(unpacked(c.histogram())) || h.TotalCount() != total {
		t.Fatalf("%d values, of which the library finds %d, or elsewhere", total, h.TotalCount())
	}
}

// FuzzCounts is FuzzPayload behind the checksums: it deflates counts as they come.
func FuzzCounts(f *testing.F) {
	for _, l := range sampleLatencies() {
		var d decoder
		c, _, _ := d.decode(l.HDR)
		f.Add([]byte(c))
	}
	f.Add([]byte{0x82, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 2}) // a number ends with its ninth byte, whatever that says
	f.Add([]byte{1, 0x80, 0x80, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, counts []byte) {
		const inner = hdrhistogram.ENCODING_HEADER_SIZE
		var d decoder
		d.decode(sampleLatencies()[Hold].HDR)
		plain := append(slices.Clone(d.plain.Bytes()[:inner]), counts...)
		binary.BigEndian.PutUint32(plain[4:], uint32(len(counts)))
		deflated := bytes.NewBuffer(slices.Clone(d.raw[:8]))
		z := zlib.NewWriter(deflated)
		if _, err := z.Write(plain); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		raw := deflated.Bytes()
		binary.BigEndian.PutUint32(raw[4:], uint32(len(raw)-8))
		agreeWithLibrary(t, base64.StdEncoding.EncodeToString(raw))
	})
}

// TestPayloadsOfOurs go to the fast decoder.
func TestPayloadsOfOurs(t *testing.T) {
	for m, l := range sampleLatencies() {
		if _, total, ok := new(decoder).decode(l.HDR); !ok || total != l.Count {
			t.Errorf("%s goes to the library", m)
		}
	}
}
