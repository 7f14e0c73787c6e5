package results

import (
	"encoding/json"
	"fmt"
	"io"
)

// ReadForm reads what a command has written as JSON into form, which has the version of it in schema. What names it in errors: "a
// report of lockbench prove -format json". It fails if that is something else, ends too early, is longer than a line of records
// may be, or is of a newer lockbench.
func ReadForm(in io.Reader, what string, form any, schema *int, newest int) error {
	limited := io.LimitedReader{R: in, N: maxLine}
	err := json.NewDecoder(&limited).Decode(form)
	switch {
	case err != nil && limited.N == 0:
		return fmt.Errorf("not %s: it is longer than %d MiB", what, maxLine>>20)
	case err == io.ErrUnexpectedEOF, err == io.EOF: // and not that of a compressed file, which says more
		return fmt.Errorf("not %s: it ends too early", what)
	case err != nil:
		return fmt.Errorf("not %s: %w", what, err)
	case *schema > newest:
		return fmt.Errorf("schema: %d is of a newer lockbench; this one knows %d", *schema, newest)
	}
	return nil
}
