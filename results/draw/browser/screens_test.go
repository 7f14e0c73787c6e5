package browser

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"html/template"
	"image"
	"image/color"
	imagedraw "image/draw"
	"image/png"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/pagetest"
	"github.com/lockbench/lockbench/results/report"
)

// screens are the pictures of the README: pages from their top down to the end of a part, and what a terminal shows.
var screens = map[string]struct {
	url   func(*testing.T) string
	parts string // of the page, as selectors; the last ends the picture
}{
	"report": {func(t *testing.T) string { return write(t, report.Run(recorded(t, "front-door"), nil)) }, topOfPage},
	"proof": {func(t *testing.T) string { return write(t, report.Proof(proof(t))) },
		topOfPage + ", main > details[open] tbody tr:nth-child(16)"},
	"plan": {func(t *testing.T) string { return written(t, answerInTerminal) }, "pre"},
	"live": {nil, "#status, #live"}, // of a run of its own
}

const topOfPage = "header, main > section:first-child"

// testScreens holds the text of the pages to the one of which the pictures were made. With -update it makes all anew.
func testScreens(t *testing.T, ctx context.Context) {
	const (
		most  = 120 << 10 // bytes
		width = 1280
	)
	for name, screen := range screens {
		t.Run(name, func(t *testing.T) {
			parts := fmt.Sprintf("[...document.querySelectorAll(%q)]", screen.parts)
			switch {
			case screen.url != nil:
				look(t, ctx, screen.url(t), width, "light")
				pagetest.Golden(t, "screen-"+name+".txt", evaluate[string](t, ctx, parts+`.map((s) => s.innerText.replace(/\s+/g, " ")).join("\n") + "\n"`))
			case *pagetest.Update:
				url, _ := start(t, program(t), "-driver", "rueidis", "-clients", "512", "-keys", "10", "-duration", "20s")
				look(t, ctx, url, width, "light")
				await(t, ctx, `/1[5-9]s of 20s/.test(document.querySelector("#live header")?.textContent)`)
			}
			file := filepath.Join("..", "..", "..", "scripts", "recorded", "screens", name+".png")
			if *pagetest.Update {
				clip := page.Viewport{Width: width, Height: evaluate[float64](t, ctx, parts+`.at(-1).getBoundingClientRect().bottom + 24`), Scale: 1}
				if err := os.WriteFile(file, fewColours(t, screenshot(t, ctx, clip)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			switch info, err := os.Stat(file); {
			case err != nil:
				t.Error(err)
			case info.Size() > most:
				t.Errorf("%s has %d bytes, want %d at the most", file, info.Size(), most)
			}
		})
	}
}

// answerInTerminal writes a page that looks as a terminal in which the recorded plan was asked for.
func answerInTerminal(w io.Writer) error {
	dir := os.DirFS(filepath.Join("..", "..", "..", "scripts", "recorded"))
	text, err := fs.ReadFile(dir, "plan.json")
	if err != nil {
		return err
	}
	commands, err := fs.ReadFile(dir, "commands.txt")
	if err != nil {
		return err
	}
	answer, err := capacity.ReadAnswer(bytes.NewReader(text))
	if err != nil {
		return err
	}
	_, after, _ := strings.Cut(string(commands), "plan.json: ")
	command, _, _ := strings.Cut(after, "\n")
	shown := bytes.NewBufferString("$ " + strings.ReplaceAll(command, "response.p99<20ms", "'response.p99<20ms'") + "\n")
	if err := draw.Terminal(shown, report.Plan(answer), draw.Options{Color: true}); err != nil {
		return err
	}
	code := regexp.MustCompile("\x1b\\[(\\d+)m")
	_, err = fmt.Fprintf(w, `<!doctype html><meta charset="utf-8"><style>body { margin: 0; background: #14171c }
pre { margin: 24px; font: 20px/1.35 monospace; color: #d5dae1 } .is1 { font-weight: bold; color: #fff }
.is31 { color: #ff8a80 } .is32 { color: #4cc79a } .is33 { color: #e5b454 }</style><pre><span>%s</span></pre>`,
		code.ReplaceAllString(template.HTMLEscapeString(shown.String()), `</span><span class="is$1">`))
	return err
}

func screenshot(t *testing.T, ctx context.Context, clip page.Viewport) image.Image {
	t.Helper()
	var data []byte
	shot := chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		beyond := true
		got, err := cdp.Call(ctx, target, page.CaptureScreenshot, page.CaptureScreenshotParams{Clip: &clip, CaptureBeyondViewport: &beyond})
		data = got.Data
		return err
	})
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, shot); err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

// fewColours returns a picture as PNG in its most frequent colours, which takes a third of the bytes.
func fewColours(t *testing.T, picture image.Image) []byte {
	t.Helper()
	const most = 64
	count := map[color.RGBA]int{}
	size := picture.Bounds()
	for y := range size.Dy() {
		for x := range size.Dx() {
			count[color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)]++
		}
	}
	order := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	var palette color.Palette
	for _, c := range order[:min(len(order), most)] {
		palette = append(palette, c)
	}
	reduced := image.NewPaletted(size, palette)
	imagedraw.Draw(reduced, size, picture, size.Min, imagedraw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, reduced); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
