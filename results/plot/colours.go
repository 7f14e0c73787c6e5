package plot

import _ "embed"

// Colours are those of pages and charts as a style sheet: custom properties of the root element, which follow the reader's choice
// of a light or a dark theme. --s1 to --s8 tell lines apart, and --good, --warn and --bad say what is to be thought of them.
//
//go:embed colours.css
var Colours string

// Lines is how many colours there are for lines.
const Lines = 8
