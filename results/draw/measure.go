package draw

// How wide text of a file is, and how it breaks into lines.

import (
	"strings"

	"github.com/lockbench/lockbench/results/format"
)

// The sizes of text.
const (
	titleSize = 20.0
	textSize  = 15.0
	boldWidth = 1.13 // times as wide is bold text
)

// widths are those of the printable ASCII characters in DejaVu Sans, in thousandths of the size. It is the widest of the fonts
// that a chart may come to be shown in, so that what fits here fits in all.
var widths = [...]int{
	318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636, 636, 636, 636,
	337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,
	611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974,
	634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
}

// measure returns how wide text is.
func measure(s string, size float64) float64 {
	sum := 0
	for _, r := range s {
		switch {
		case r >= ' ' && int(r-' ') < len(widths):
			sum += widths[r-' ']
		case r == '·', r == '\u00a0':
			sum += 318
		case format.Width(string(r)) > 1: // 版
			sum += 1000
		default:
			sum += 838
		}
	}
	return float64(sum) * size / 1000
}

// wrap breaks text into lines that are no wider than room.
func wrap(text string, room float64) []string { return wrapAt(text, " ", room, textSize) }

// nameLines breaks a name before a part of it, so that it takes two lines at most where parts are short.
func nameLines(name string, room float64) []string { return wrapAt(name, " · ", room, textSize) }

// wrapAt breaks text at sep alone, and clips the parts that are too wide by themselves.
func wrapAt(text, sep string, room, size float64) (lines []string) {
	line := ""
	for part := range strings.SplitSeq(text, sep) {
		if line != "" && measure(line+sep+part, size) > room {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+sep+part, sep)
	}
	lines = append(lines, line)
	for i, line := range lines {
		lines[i] = clip(line, room, size)
	}
	return lines
}

// clip cuts out of the middle what does not fit into the room: names often differ at their ends.
func clip(s string, room, size float64) string {
	if measure(s, size) <= room {
		return s
	}
	r := []rune(s)
	for n := len(r) - 1; n > 0; n-- {
		if short := string(r[:(n+1)/2]) + "…" + string(r[len(r)-n/2:]); measure(short, size) <= room {
			return short
		}
	}
	return "…"
}
