// lockbench schema: the JSON schemas of what lockbench reads and writes. That of workload files is made from the table of
// flags, like the parser's vocabulary, so that neither knows a field that the other does not; those of all others
// are the affair of packages results and export.

package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// schemas are what has one, the default first.
var schemas = []string{"workload", "record", "report", "comparison", "plan", "proof"}

// schemaOf makes one of them.
var schemaOf = map[string]func() ([]byte, error){
	"workload": workloadSchema, "record": results.JSONSchema, "report": export.ReportSchema, "comparison": export.ComparisonSchema,
	"plan": export.PlanSchema, "proof": export.ProofSchema,
}

func (p *program) schemaCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:   "schema [workload|record|report|comparison|plan|proof]",
		Short: "Print the JSON schema of workload files, records, reports, comparisons, plans or proofs",
		Long: "Prints a JSON schema (draft 2020-12).\n\n" +
			"workload, the default, is that of the files that -workload takes. An editor that knows it\n" +
			"completes their fields and marks mistakes. What depends on other values, lockbench alone tells:\n" +
			"see -dry-run.\n\n" +
			"record is that of a line of the files that -o writes, report that of what -format json writes of a\n" +
			"run, comparison that of what compare -format json writes, plan and proof those of what plan and\n" +
			"prove -format json write, for programs that read them. They have to expect fields that it does not\n" +
			"name: later versions add some.",
		ValidArgs: schemas,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageErrorf("schema: one at a time: %s", strings.Join(schemas, ", "))
			}
			if len(args) == 1 && !slices.Contains(schemas, args[0]) {
				return usageErrorf("schema: no schema is called %q%s; there are %s",
					args[0], suggest.DidYouMean("", args[0], schemas), strings.Join(schemas, ", "))
			}
			return nil
		},
	}, nil, func(_ *cobra.Command, _ *options, args []string) error {
		text, err := schemaOf[append(args, schemas[0])[0]]()
		if err != nil {
			return err
		}
		_, err = p.stdout.Write(text)
		return err
	})
}

// workloadSchema returns the schema of the files that vocabulary describes.
func workloadSchema() ([]byte, error) {
	return vocabulary().JSONSchema(func(field string) map[string]any {
		if field == sloFlag.name {
			return matrix.Schema(spec.Setting{Name: sloFlag.name, Value: sloFlag.value, Usage: sloFlag.usage})
		}
		f, _ := findFlag(field)
		if f.name == "seed" {
			f.value = "SEED"
		}
		return matrix.Schema(spec.Setting{Name: f.name, Value: f.value, Axis: f.axis, Default: f.def, Usage: f.usage})
	})
}
