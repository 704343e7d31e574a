package client

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"testing"

	"github.com/tacet-chat/tacet/client/internal/group"
)

// drawn is a picture with something on it.
func drawn(w, h int) image.Image {
	m := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.RGBA{200, 30, 30, 255}, color.RGBA{20, 40, 200, 255}, color.Transparent})
	for i := range m.Pix {
		m.Pix[i] = byte(i / 7 % 3)
	}
	return m
}

func files(t *testing.T, m image.Image) map[string][]byte {
	t.Helper()
	var j, p, g bytes.Buffer
	if err := errors.Join(jpeg.Encode(&j, m, nil), png.Encode(&p, m), gif.Encode(&g, m, nil)); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"jpeg": j.Bytes(), "png": p.Bytes(), "gif": g.Bytes()}
}

// withExif puts a segment of what a camera writes behind the first marker.
func withExif(file []byte, secret string) []byte {
	seg := append([]byte("Exif\x00\x00"), secret...)
	out := append([]byte{}, file[:2]...)
	out = append(out, 0xff, 0xe1)
	out = binary.BigEndian.AppendUint16(out, uint16(2+len(seg)))
	return append(append(out, seg...), file[2:]...)
}

func TestAPictureIsDrawnAnew(t *testing.T) {
	for name, size := range map[string][2]int{"large": {1600, 900}, "tall": {3, 2000}, "one pixel": {1, 1}, "of the right size": {256, 256}} {
		for kind, file := range files(t, drawn(size[0], size[1])) {
			small, err := SmallPicture(file)
			if err != nil {
				t.Errorf("%s %s: %v", name, kind, err)
				continue
			}
			if len(small) > group.MaxPicture || !goodPicture(small) {
				t.Errorf("%s %s: %d bytes are no picture as it should be", name, kind, len(small))
			}
			if again, err := SmallPicture(small); err != nil || !bytes.Equal(again, small) {
				t.Errorf("%s %s: it is drawn anew twice: %v", name, kind, err)
			}
		}
	}
}

func TestNothingOfTheCameraGoesOver(t *testing.T) {
	const secret = "48.2082 N 16.3738 E"
	for name, m := range map[string]image.Image{"large": drawn(600, 400), "small": drawn(64, 64)} {
		base := files(t, m)["jpeg"]
		for where, file := range map[string][]byte{
			"in a segment":   withExif(base, secret),
			"behind the end": append(bytes.Clone(base), secret...),
			"as a comment":   append(append(bytes.Clone(base[:2]), append([]byte{0xff, 0xfe, 0, byte(2 + len(secret))}, secret...)...), base[2:]...),
		} {
			if goodPicture(file) {
				t.Errorf("%s, %s: taken for a picture without anything else", name, where)
			}
			small, err := SmallPicture(file)
			if err != nil {
				t.Errorf("%s, %s: %v", name, where, err)
			}
			if bytes.Contains(small, []byte(secret)) || bytes.Contains(small, []byte("Exif")) {
				t.Errorf("%s, %s: it went over", name, where)
			}
		}
	}
}

func TestWhatIsNoPictureIsRefused(t *testing.T) {
	good := files(t, drawn(40, 40))
	huge := bytes.Clone(good["png"])
	binary.BigEndian.PutUint32(huge[16:], 1<<30) // says that it is a billion pixels wide
	for name, file := range map[string][]byte{
		"nothing": {}, "text": []byte("hello, this is no picture"), "half a jpeg": good["jpeg"][:len(good["jpeg"])/3], "half a png": good["png"][:len(good["png"])/2],
		"a bomb": huge, "too long": make([]byte, MaxPictureFile+1), "svg": []byte("<svg xmlns='http://www.w3.org/2000/svg'/>"),
	} {
		if b, err := SmallPicture(file); !errors.Is(err, ErrPicture) {
			t.Errorf("%s: got %d bytes, %v, want ErrPicture", name, len(b), err)
		}
	}
	for name, file := range map[string][]byte{"png": good["png"], "a large jpeg": files(t, drawn(300, 20))["jpeg"]} {
		if goodPicture(file) {
			t.Errorf("%s: a member's program can show it to faces", name)
		}
	}
}

// TestPicturesOfAnyBytes: whatever a file is made of, what comes out of it is a picture
// as it should be, or nothing.
func TestPicturesOfAnyBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	good := 0
	for kind, file := range files(t, drawn(24, 16)) {
		for range 400 {
			b := bytes.Clone(file)
			for range 1 + r.IntN(3) {
				b[r.IntN(len(b))] = byte(r.Uint32())
			}
			b = b[:len(b)-r.IntN(2)*r.IntN(len(b))]
			if c, _, err := image.DecodeConfig(bytes.NewReader(b)); err == nil && c.Width*c.Height > 1<<18 {
				continue // it takes long, and nothing else
			}
			small, err := SmallPicture(b)
			if err != nil {
				continue
			}
			if good++; !goodPicture(small) {
				t.Errorf("%s: %d bytes became no good picture", kind, len(b))
			}
		}
	}
	if good == 0 {
		t.Error("nothing was a picture")
	}
}
