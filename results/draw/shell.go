package draw

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"unicode"
)

//go:embed shell.html document.html style.css colours.css charts.css file.css script.js
var files embed.FS

var shell = template.Must(template.ParseFS(files, "shell.html"))

// Shell writes a page around its body, with the style of all pages: one file, which needs no other, no network and no script to be
// read. It fails with the error of w, to which nothing is written until the page is whole.
func Shell(w io.Writer, title string, body template.HTML) error {
	return writeShell(w, title, body, "")
}

// writeShell writes a page, which may have a second script.
func writeShell(w io.Writer, title string, body template.HTML, live string) error {
	script := mustRead("script.js")
	var out bytes.Buffer
	err := shell.Execute(&out, struct {
		Title        string
		Style        template.CSS
		Script, Live template.JS
		Hash         string
		Body         template.HTML
	}{title, template.CSS(pageStyle()), template.JS(script), template.JS(live), hashOf(script), body}) // it forbids itself to run any other
	if err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	if _, err := w.Write(bytes.Map(harmless, out.Bytes())); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}

func pageStyle() string {
	return mustRead("colours.css") + mustRead("charts.css") + mustRead("style.css")
}

// hashOf returns what a policy calls a script or a style.
func hashOf(text string) string {
	hash := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(hash[:])
}

// harmless takes out what HTML does not allow in any text, and what turns the direction of the text around it: a record may hold
// what a server has answered. The page itself has none of them.
func harmless(r rune) rune {
	switch {
	case r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Noncharacter_Code_Point), r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return ' '
	}
	return r
}

func mustRead(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}
