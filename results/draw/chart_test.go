package draw

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/pagetest"
	"github.com/lockbench/lockbench/results/report"
)

func svg(t *testing.T, ch *report.Chart) string {
	t.Helper()
	var out bytes.Buffer
	if err := SVG(&out, ch); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestSVG(t *testing.T) { pagetest.Golden(t, "sample.svg", svg(t, charts()[4])) }

// box is where a text stands.
type box struct {
	text                     string
	left, right, top, bottom float64
}

// texts returns the places of all texts of a drawing.
func texts(t *testing.T, svg string) (all []box) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader("<svg>" + svg + "</svg>"))
	var now *box
	anchor, whole := "", false
	for {
		token, err := d.Token()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if whole = token.Name.Local == "title"; token.Name.Local == "text" {
				x, _ := strconv.ParseFloat(attribute(token, "x"), 64)
				y, _ := strconv.ParseFloat(attribute(token, "y"), 64)
				now, anchor = &box{left: x, top: y - 7.5, bottom: y + 1.5}, attribute(token, "text-anchor")
			}
		case xml.EndElement:
			if whole = false; token.Name.Local == "text" {
				all, now = append(all, *now), nil
			}
		case xml.CharData:
			if now != nil && !whole {
				wide := 10 * measure(string(token))
				now.text = string(token)
				now.left -= map[string]float64{"middle": wide / 2, "end": wide}[anchor]
				now.right = now.left + wide
			}
		}
	}
}

// crowded are charts whose names have it hard.
func crowded() (all []*report.Chart) {
	long, words := strings.Repeat("anUnbreakableName", 8), strings.Repeat("many words ", 30)
	wide := func(v float64) string { return fmt.Sprintf("%.9f", v) }
	for kind := report.Lines; kind <= report.Lanes; kind++ {
		ch := &report.Chart{Kind: kind, Title: long, Shade: 2,
			X: report.Axis{Name: words, Label: wide}, Y: report.Axis{Name: long, Log: true}}
		for i, name := range []string{long, "", "short", words, "版版版版版版版版版版版版版版版版", "a", "b", "c", "d", "e"} {
			ch.Series = append(ch.Series, report.Series{Name: name, Text: name, Tone: report.Bad,
				Points: []report.Point{{X: 1, Y: 1e6}, {X: 2, Y: 1e6 + float64(i), Low: 1, High: 3}}})
			ch.Uprights = append(ch.Uprights, report.Line{At: 1.9 + float64(i)/1e3, Name: name})
		}
		all = append(all, ch)
	}
	return all
}

// TestLabels: on no canvas do texts overlap or leave it.
func TestLabels(t *testing.T) {
	for _, ch := range append(crowded(), charts()...) {
		for _, width := range []float64{wideChart, narrowChart, fileChart} {
			c := plot{width: width, ch: ch}
			c.draw()
			boxes := texts(t, c.String())
			for i, a := range boxes {
				if a.left < -1 || a.right > 10*width+1 || a.bottom > 10*c.y || a.top < -1 {
					t.Errorf("%s at %g: %+v leaves the canvas", ch.Title, width, a)
				}
				for _, b := range boxes[:i] {
					if min(a.right, b.right) > max(a.left, b.left) && min(a.bottom, b.bottom) > max(a.top, b.top) {
						t.Errorf("%s at %g: %+v overlaps %+v", ch.Title, width, a, b)
					}
				}
			}
		}
	}
}

// TestScale plants what axes have to cope with.
func TestScale(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name   string
		axis   report.Axis
		values []float64
		want   string
	}{
		{"linear", report.Axis{}, []float64{3, 9.7}, "0 2 4 6 8 10"},
		{"nothing", report.Axis{}, nil, "0 0.2 0.4 0.6 0.8 1"},
		{"zero", report.Axis{}, []float64{0, 0}, "0 0.2 0.4 0.6 0.8 1"},
		{"negative", report.Axis{}, []float64{-0.3, 0.5}, "-0.2 0 0.2 0.4"},
		{"unknown", report.Axis{}, []float64{nan, inf, -inf, 4}, "0 1 2 3 4"},
		{"most", report.Axis{Most: 100}, []float64{3}, "0 20 40"},
		{"huge", report.Axis{Label: func(float64) string { return "much" }}, []float64{9e300}, "0 much much much much"},
		{"decades", report.Axis{Log: true}, []float64{2, 3000}, "10 100 1,000"},
		{"one decade", report.Axis{Log: true}, []float64{100, 1000}, "100 200 500 1,000"},
		{"half a decade", report.Axis{Log: true}, []float64{2.1, 6}, "2 3 4 5 6"},
		{"a point", report.Axis{Log: true}, []float64{7}, ""},
		{"logarithm of nothing", report.Axis{Log: true}, []float64{0, nan, -3, inf}, ""},
		{"a wide range", report.Axis{Log: true}, []float64{1e-9, 1e12}, ""},
		{"given", report.Axis{Ticks: []report.Line{{At: 50, Name: "a"}, {At: 70, Name: "b"}}}, []float64{50, 70}, "a b"},
		{"a label", report.Axis{Label: ms}, []float64{4e6}, "0 1 ms 2 ms 3 ms 4 ms"},
	} {
		s := newScale(c.axis, c.values)
		var got []string
		last := -1.0
		for _, tick := range s.ticks(6) {
			got = append(got, tick.Name)
			if at := s.at(tick.At); !(at > last) || at > 1 {
				t.Errorf("%s: %s is at %g, after %g", c.name, tick.Name, at, last)
			} else {
				last = at
			}
		}
		few := c.axis.Log && len(got) < 3
		if text := strings.Join(got, " "); !strings.HasPrefix(text, c.want) || few || len(got) > 30 {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
		for _, v := range append(c.values, nan, inf, -inf, 0) {
			if at := s.at(v); at < 0 || at > 1 {
				t.Errorf("%s: %g is at %g", c.name, v, at)
			}
		}
	}
}

// TestChanges: what lies beyond half and double is an arrow.
func TestChanges(t *testing.T) {
	ch := &report.Chart{Kind: report.Changes, X: report.Axis{Log: true}, Uprights: []report.Line{{At: 1}},
		Series: []report.Series{row("", "", report.Plain, report.Point{X: 100, Low: 0.5, High: math.Inf(1)})}}
	c := plot{width: wideChart, ch: ch}
	c.draw()
	if n := strings.Count(c.String(), `d="M-5 -4L0 0L-5 4Z"`); n != 2 {
		t.Errorf("%d arrows, want those of the value and of the end of its interval", n)
	}
}
