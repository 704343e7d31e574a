package text

import (
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rsc.io/qr"
)

// TestCodesAreReadByMachines draws codes as a terminal does and has zbarimg
// read them.
func TestCodesAreReadByMachines(t *testing.T) {
	zbar, err := exec.LookPath("zbarimg")
	if err != nil {
		t.Skip("SKIPPED 1 test: zbarimg is not installed (apt-get install zbar-tools)")
	}
	for _, link := range []string{
		"tacet://r.example/i#AQIDBAUGBwgJCgsMDQ4PEBES",
		"tacet://" + strings.Repeat("a", 60) + "/i#AQIDBAUGBwgJCgsMDQ4PEBES", // near 100 bytes
	} {
		code, err := qr.Encode(link, qr.L)
		if err != nil {
			t.Fatal(err)
		}
		drawn := QR(code.Size, code.Black, Style{})
		if lines := strings.Count(drawn, "\n"); len(link) < 80 && lines > 23 {
			t.Errorf("code of %d bytes: got %d lines, want at most 23", len(link), lines)
		}
		path := filepath.Join(t.TempDir(), "code.png")
		if err := os.WriteFile(path, photograph(t, drawn), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(zbar, "--quiet", "--raw", path).Output()
		if err != nil || strings.TrimSpace(string(out)) != link {
			t.Errorf("reading the code of %q: got %q, %v", link, out, err)
		}
	}
}

// photograph makes a picture of half blocks, light on dark.
func photograph(t *testing.T, drawn string) []byte {
	const scale = 6
	lines := strings.Split(strings.TrimRight(drawn, "\n"), "\n")
	img := image.NewGray(image.Rect(0, 0, len([]rune(lines[0]))*scale, 2*len(lines)*scale))
	for y, l := range lines {
		for x, r := range []rune(l) {
			for half, lit := range []bool{r == '█' || r == '▀', r == '█' || r == '▄'} {
				if !lit {
					continue
				}
				for i := range scale * scale {
					img.SetGray(x*scale+i%scale, (2*y+half)*scale+i/scale, color.Gray{255})
				}
			}
		}
	}
	var b strings.Builder
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return []byte(b.String())
}
