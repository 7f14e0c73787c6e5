package main

import (
	"context"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/capacity"
)

func TestOverlap(t *testing.T) {
	of := func(ends ...float64) (list []planned) {
		for i := 0; i < len(ends); i += 2 {
			list = append(list, planned{CandidateAnswer: capacity.CandidateAnswer{Sustains: capacity.Range{Low: ends[i], Mid: (ends[i] + ends[i+1]) / 2, High: ends[i+1]}}})
		}
		return list
	}
	for _, tt := range []struct {
		plans []planned
		want  string
	}{
		{of(1, 3, 2, 4, 2, 5), "yes"},
		{of(1, 3, 2, 4, 3.5, 5), "no"},
		{of(1, 3, 2, 0), "–"},
	} {
		if got := overlap(tt.plans); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.plans, got, tt.want)
		}
	}
}

func TestPlanned(t *testing.T) {
	for _, tt := range []struct {
		p    capacity.CandidateAnswer
		want string
	}{
		{capacity.CandidateAnswer{Verdict: capacity.Sustains, Sustains: capacity.Range{Low: 900, Mid: 1000, High: 1100}}, "1,000 (900–1,100)"},
		{capacity.CandidateAnswer{Verdict: capacity.Undecided, Sustains: capacity.Range{Low: 900}, AtLeast: true}, "≥ 900"},
		{capacity.CandidateAnswer{Verdict: capacity.Undecided, Sustains: capacity.Range{Low: 900, Mid: 1000, High: 1100}}, "1,000 (900–1,100) undecided"},
		{capacity.CandidateAnswer{Verdict: capacity.Failed}, "failed"},
	} {
		if got := (planned{CandidateAnswer: tt.p}).String(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.p, got, tt.want)
		}
	}
}

// TestRefusals: nothing is run for a study that means nothing.
func TestRefusals(t *testing.T) {
	for _, tt := range [][]string{{"response.p99<20ms"}, {"response.p99<20ms,response.p50<5ms", "-driver null"}, {"p99", "-driver null"}} {
		s := study{n: 1}
		if err := s.run(context.Background(), tt[0], tt[1:]); err == nil || !strings.ContainsAny(err.Error(), " ") {
			t.Errorf("%q: %v", tt, err)
		}
	}
}
