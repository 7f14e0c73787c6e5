package export

// What was asked for, by the names of the flags: for formats that machines read, in which a name must mean the same thing
// next year and in every file.

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/spec"
)

// settings are those of a plan, and its classes.
var settings = append(slices.Clone(spec.Settings), spec.Derived("classes", typedClasses))

// typedClasses names the classes and what they have, in short: what a class is stands in its record alone, and four digits
// of a hash tell two sets of classes apart.
func typedClasses(p *spec.Plan) string {
	if len(p.Classes) == 0 {
		return ""
	}
	names := make([]string, len(p.Classes))
	for i, c := range p.Classes {
		names[i] = fmt.Sprintf("%s:%d", c.Name, c.Clients)
	}
	hash := sha256.New()
	_ = json.NewEncoder(hash).Encode(p.Classes) // which fails for numbers that no valid record has
	return strings.Join(names, "+") + "~" + hex.EncodeToString(hash.Sum(nil)[:2])
}
