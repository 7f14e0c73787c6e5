package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/pagetest"
)

func comparisonSchemaOf(t *testing.T) *jsonschema.Schema {
	t.Helper()
	return compiled(t, results.SchemaID("comparison"), ComparisonSchema)
}

func compiled(t *testing.T, id string, schema func() ([]byte, error)) *jsonschema.Schema {
	t.Helper()
	text, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(id, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON returns what is written of a comparison, read back with every digit.
func asJSON(t *testing.T, c *compare.Comparison) any {
	t.Helper()
	return document(t, func(w io.Writer) error { return ComparisonJSON(w, c) })
}

func document(t *testing.T, write func(io.Writer) error) any {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(&b)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestSchemasArePublished compares the schemas in the repository with those that the types make.
func TestSchemasArePublished(t *testing.T) {
	published(t, "../comparison.schema.json", ComparisonSchema)
	published(t, "../report.schema.json", ReportSchema)
	published(t, "../plan.schema.json", PlanSchema)
	published(t, "../proof.schema.json", ProofSchema)
}

func published(t *testing.T, path string, schema func() ([]byte, error)) {
	t.Helper()
	text, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	if *pagetest.Update {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != string(want) {
		t.Errorf("%s is not what the types make; run the test with -update", path)
	}
}

// compared returns two sides of n trials each, compared in fact.
func compared(t *testing.T, n int, on string, head func(*results.Record)) *compare.Comparison {
	t.Helper()
	var sides [2][]*results.Record
	for i := range 2 * n {
		r := record(i)
		if i%2 == 1 {
			head(r)
		}
		sides[i%2] = append(sides[i%2], r)
	}
	list, err := compare.ParseThresholds(on)
	if err != nil {
		t.Fatal(err)
	}
	c, err := compare.Compare(compare.Input{Name: "base", Cells: cells(t, sides[0]...)}, compare.Input{Name: "head", Cells: cells(t, sides[1]...)},
		compare.Options{Thresholds: list, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestComparisonSchemaTakes every comparison that the tests make, with nothing known and with texts of all kinds.
func TestComparisonSchemaTakes(t *testing.T) {
	s := comparisonSchemaOf(t)
	all := map[string]*compare.Comparison{
		"one of everything": comparison(t, "label", "why"),
		"empty":             {Alpha: 0.05, Verdict: compare.Inconclusive},
		"same":              compared(t, 6, "locks/s<-5%,violations>0,hold.p99>+1%", func(*results.Record) {}),
		"to nothing": compared(t, 6, "locks/s<-5%,errors>+5%,acquire.p99>1ms", func(r *results.Record) {
			r.Counts, r.Latency, r.Counts.Errors = results.Counts{}, nil, map[string]int64{"timeout": 3}
		}),
		"from one trial": compared(t, 1, "locks/s<-5%", func(r *results.Record) { r.Safety = results.Safety{} }),
	}
	for i, text := range weird {
		c := comparison(t, text, text)
		c.Notes, c.Added, c.Base.Name = []string{text}, []string{text}, text
		all[fmt.Sprintf("text %d", i)] = c
	}
	boundless := comparison(t, "", "")
	for i := range boundless.Cells[0].Figures {
		change := &boundless.Cells[0].Figures[i].Change
		change.Ratio, change.Low, change.High, change.P = math.Inf(1), math.Inf(-1), math.NaN(), math.NaN()
	}
	all["without a number"] = boundless
	for name, c := range all {
		if err := s.Validate(asJSON(t, c)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestComparisonSchemaRefusesDamage damages a comparison with one of everything.
func TestComparisonSchemaRefusesDamage(t *testing.T) {
	refusesDamage(t, comparisonSchemaOf(t), asJSON(t, comparison(t, "label", "why")), `\.(command|better|why|needed_trials)$`, `^$`)
}

// refusesDamage takes each field out, one at a time, and then puts something of another type in its place. A field that the
// schema did not know could be anything. Those that may be absent, and those that are left alone, match the expressions.
func refusesDamage(t *testing.T, s *jsonschema.Schema, doc any, optional, alone string) {
	t.Helper()
	mayLack, skip := regexp.MustCompile(optional), regexp.MustCompile(alone)
	if err := s.Validate(doc); err != nil {
		t.Fatal(err)
	}
	fields := 0
	strange := func(path string, put func(v any), v any) {
		fields++
		other, flag := any("x"), any(true)
		switch v.(type) {
		case string:
			other = json.Number("3")
		case bool:
			flag = nil
		}
		for _, one := range []any{other, flag, []any{map[string]any{}}, map[string]any{"x": "y"}} {
			put(one)
			if s.Validate(doc) == nil {
				t.Errorf("%s: the schema takes %v in place of %v", path, one, v)
			}
		}
		put(v)
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				old, at := v[name], path+"."+name
				if skip.MatchString(at) {
					continue
				}
				walk(at, old)
				strange(at, func(value any) { v[name] = value }, old)
				delete(v, name)
				if missed := s.Validate(doc) != nil; missed == mayLack.MatchString(at) {
					t.Errorf("%s: left out, and missed: %t", at, missed)
				}
				v[name] = old
			}
		case []any:
			for i, old := range v {
				at := fmt.Sprintf("%s[%d]", path, i)
				walk(at, old)
				strange(at, func(value any) { v[i] = value }, old)
			}
		}
	}
	walk("", doc)
	if err := s.Validate(doc); err != nil || fields < 100 {
		t.Errorf("%d fields, and in the end %v", fields, err)
	}
}

// refusesNonsense puts each value in place of the key's, which the document has to hold.
func refusesNonsense(t *testing.T, s *jsonschema.Schema, good string, nonsense map[string]string) {
	t.Helper()
	for old, bad := range nonsense {
		text := strings.Replace(good, old, bad, 1)
		if text == good {
			t.Errorf("there is no %s", old)
			continue
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if s.Validate(doc) == nil {
			t.Errorf("the schema takes %s", bad)
		}
	}
}

// TestComparisonSchemaRefusesNonsense: what has the right type, and is impossible.
func TestComparisonSchemaRefusesNonsense(t *testing.T) {
	s := comparisonSchemaOf(t)
	var b bytes.Buffer
	if err := ComparisonJSON(&b, comparison(t, "label", "why")); err != nil {
		t.Fatal(err)
	}
	good := b.String()
	refusesNonsense(t, s, good, map[string]string{
		`"schema": 1`: `"schema": 2`, `"alpha": 0.05`: `"alpha": 0`, `"tests": 4`: `"tests": -1`, `"trials": 20`: `"trials": 2.5`,
		`"verdict": "regressed"`: `"verdict": "worse"`, `"unit": "1/s"`: `"unit": "s"`, `"better": "higher"`: `"better": "more"`,
		`"p_adjusted": 0.4`: `"p_adjusted": 1.4`, `"needed_trials": 12`: `"needed_trials": -1`, `"n": 10`: `"n": -10`,
		`"change_low": -0.09`: `"change_low": -1.09`, `"median": 41000`: `"median": -41000`, `"threshold": "locks/s<-5%"`: `"threshold": ""`,
		`"figure": "locks/s"`: `"figure": ""`,
	})
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.Replace(good, `"tests"`, `"later": true, "tests"`, 1)))
	if err != nil || s.Validate(doc) != nil {
		t.Errorf("a field of a later version: %v", s.Validate(doc))
	}
}
