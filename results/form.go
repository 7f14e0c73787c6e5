package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ReadForm reads what a command has written as JSON into form, which has the version of it in schema. What names it in errors: "a
// report of lockbench prove -format json". It fails if that is something else, ends too early, or is of a newer lockbench.
func ReadForm(in io.Reader, what string, form any, schema *int, newest int) error {
	err := json.NewDecoder(in).Decode(form)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("not %s: it ends too early", what)
	case err != nil:
		return fmt.Errorf("not %s: %w", what, err)
	case *schema > newest:
		return fmt.Errorf("schema: %d is of a newer lockbench; this one knows %d", *schema, newest)
	}
	return nil
}
