package browser

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/lockbench/lockbench/results/pagetest"
)

// screens are the pictures of the README: the top of pages of recorded files, down to what they mean.
var screens = map[string]func(*testing.T) (url string){
	"report": func(t *testing.T) string { return write(t, recorded(t, "front-door")) },
	"proof":  func(t *testing.T) string { return proof(t, asRecorded) },
}

// testScreens holds the text of the pages to the one of which the pictures were made. With -update it makes both anew.
func testScreens(t *testing.T, ctx context.Context) {
	const (
		most  = 120 << 10 // bytes
		width = 1280
		text  = `["header", "main > section:first-child", "#means"].map((s) => document.querySelector(s).innerText.replace(/\s+/g, " ")).join("\n") + "\n"`
		end   = `document.querySelector("#means").getBoundingClientRect().bottom + 24`
	)
	for name, url := range screens {
		t.Run(name, func(t *testing.T) {
			look(t, ctx, url(t), width, "light")
			pagetest.Golden(t, "screen-"+name+".txt", evaluate[string](t, ctx, text))
			file := filepath.Join("..", "..", "..", "scripts", "recorded", "screens", name+".png")
			if *pagetest.Update {
				clip := page.Viewport{Width: width, Height: evaluate[float64](t, ctx, end), Scale: 1}
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
	const most = 256
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
	draw.Draw(reduced, size, picture, size.Min, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, reduced); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
