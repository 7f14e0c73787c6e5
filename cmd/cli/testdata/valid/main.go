// Valid holds files of JSON to a schema: valid schema.json file.json... prints the names of those that do not keep to it.
// It is a program of its own because the test binary is the lockbench of the scripts, and the validator compiles the
// schemas of all JSON schemas at each start.
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func main() {
	schema, err := jsonschema.NewCompiler().Compile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range os.Args[2:] {
		f, err := os.Open(name)
		if err != nil {
			log.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(f)
		if err != nil {
			log.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			fmt.Println(name)
			log.Println(err)
		}
		f.Close()
	}
}
