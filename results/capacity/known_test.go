package capacity

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"
)

// TestKnown: no number anywhere in an answer that is none, and what it was made of is as it was.
func TestKnown(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	wild := Range{nan, inf, -inf}
	a := &Answer{
		Rate: inf, MaxRate: nan,
		Analysis: []Analysis{{Busy: inf, Hottest: nan, Hold: time.Millisecond}},
		Candidates: []CandidateAnswer{{
			Name: "a", Sustains: wild, Headroom: inf, Occupies: wild, Noise: nan,
			Resources: []Resource{{Name: "clients", Demand: wild, Units: 2, Full: wild}},
			Points:    []Point{{Rate: 7, Share: wild}}, Curve: []Point{{Rate: nan}},
		}},
	}
	a.Candidates[0].Cost.Commands = nan
	got := a.Known()
	want := &Answer{
		Analysis: []Analysis{{Hold: time.Millisecond}},
		Candidates: []CandidateAnswer{{
			Name: "a", Resources: []Resource{{Name: "clients", Units: 2}}, Points: []Point{{Rate: 7}}, Curve: []Point{{}},
		}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, err := json.Marshal(got); err != nil {
		t.Error(err)
	}
	if c := a.Candidates[0]; !math.IsNaN(c.Noise) || !math.IsInf(c.Resources[0].Full.Mid, 1) || !math.IsNaN(c.Points[0].Share.Low) {
		t.Error("the answer itself was changed")
	}
	if empty := (&Answer{}).Known(); empty.Analysis == nil || empty.Candidates == nil {
		t.Error("a list is null")
	}
}
