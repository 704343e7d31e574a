package client

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/vault"
)

// Bounds of pictures of groups.
const (
	MaxPictureFile = 10 << 20 // bytes of a file that one is made from
	maxPixels      = 40 << 20 // of it
	pictureSide    = 256      // pixels of the longer side of what is sent
)

// SmallPicture makes of a JPEG, PNG or GIF file the picture that members get: a JPEG of
// at most 256 by 256 pixels, drawn anew. Nothing but pixels goes over: no place, no
// camera, no time, no comment. One that is so already stays as it is. It fails with ErrPicture.
func SmallPicture(file []byte) ([]byte, error) {
	if goodPicture(file) {
		return file, nil
	}
	if len(file) > MaxPictureFile {
		return nil, ErrPicture
	}
	config, decode := pictureKind(file)
	if decode == nil {
		return nil, ErrPicture
	}
	c, err := config(bytes.NewReader(file))
	if err != nil || c.Width < 1 || c.Height < 1 || c.Width > maxPixels/c.Height {
		return nil, ErrPicture
	}
	full, err := decode(bytes.NewReader(file))
	if err != nil || full.Bounds().Dx() < 1 || full.Bounds().Dy() < 1 {
		return nil, ErrPicture
	}
	small := shrink(full)
	for _, quality := range []int{85, 70, 50, 30} {
		var b bytes.Buffer
		if err := jpeg.Encode(&b, small, &jpeg.Options{Quality: quality}); err != nil {
			return nil, ErrPicture
		}
		if b.Len() <= group.MaxPicture {
			return b.Bytes(), nil
		}
	}
	return nil, ErrPicture
}

// pictureKind goes by the first bytes, whatever the file is called.
func pictureKind(file []byte) (func(io.Reader) (image.Config, error), func(io.Reader) (image.Image, error)) {
	switch {
	case bytes.HasPrefix(file, []byte("\xff\xd8\xff")):
		return jpeg.DecodeConfig, jpeg.Decode
	case bytes.HasPrefix(file, []byte("\x89PNG\r\n\x1a\n")):
		return png.DecodeConfig, png.Decode
	case bytes.HasPrefix(file, []byte("GIF8")):
		return gif.DecodeConfig, gif.Decode // its first frame
	}
	return nil, nil
}

// shrink draws a picture anew on white, each pixel the mean of those that it stands for.
func shrink(from image.Image) *image.RGBA {
	b := from.Bounds()
	w, h := b.Dx(), b.Dy()
	longer := max(w, h)
	side := min(longer, pictureSide)
	to := image.NewRGBA(image.Rect(0, 0, max(1, w*side/longer), max(1, h*side/longer)))
	tw, th := to.Rect.Dx(), to.Rect.Dy()
	for y := range th {
		for x := range tw {
			var r, g, bl, n uint64
			for sy := y * h / th; sy < max((y+1)*h/th, y*h/th+1); sy++ {
				for sx := x * w / tw; sx < max((x+1)*w/tw, x*w/tw+1); sx++ {
					pr, pg, pb, pa := from.At(b.Min.X+sx, b.Min.Y+sy).RGBA() // with alpha in it
					white := uint64(0xffff - pa)
					r, g, bl, n = r+uint64(pr)+white, g+uint64(pg)+white, bl+uint64(pb)+white, n+1
				}
			}
			to.SetRGBA(x, y, color.RGBA{uint8(r / n >> 8), uint8(g / n >> 8), uint8(bl / n >> 8), 0xff})
		}
	}
	return to
}

// goodPicture reports whether something is a picture as we make them: of its size, and
// with nothing in it but what draws it. A member may have sent anything.
func goodPicture(b []byte) bool {
	if len(b) > group.MaxPicture || !bareJPEG(b) {
		return false
	}
	c, err := jpeg.DecodeConfig(bytes.NewReader(b))
	if err != nil || c.Width < 1 || c.Height < 1 || c.Width > pictureSide || c.Height > pictureSide {
		return false
	}
	_, err = jpeg.Decode(bytes.NewReader(b))
	return err == nil
}

// bareJPEG reports whether the segments of a JPEG are those alone that a baseline picture
// is drawn from (quantization, frame, Huffman tables, scan; ITU-T T.81, B.1.1.3), and
// nothing lies behind its end.
func bareJPEG(b []byte) bool {
	if !bytes.HasPrefix(b, []byte{0xff, 0xd8}) {
		return false
	}
	for b = b[2:]; len(b) >= 4 && b[0] == 0xff; {
		kind, size := b[1], int(b[2])<<8|int(b[3])
		if size < 2 || size+2 > len(b) {
			return false
		}
		b = b[2+size:]
		switch kind {
		case 0xdb, 0xc0, 0xc4:
			continue
		case 0xda: // of the one scan, every 0xff is followed by a zero
			end := bytes.Index(b, []byte{0xff, 0xd9})
			return end >= 0 && end+2 == len(b) && bytes.Count(b[:end], []byte{0xff}) == bytes.Count(b[:end], []byte{0xff, 0})
		}
		return false
	}
	return false
}

// GroupPicture returns the picture of a group: a JPEG of at most 256 by 256 pixels and
// 48 KiB, with nothing in it but pixels. It returns nil where the group has none; ErrPictureAway while no member
// has given it to this device, and ErrPicture for one that is none.
func (c *Client) GroupPicture(ctx context.Context, which string) (picture []byte, err error) {
	err = c.vault.View(ctx, func(tx *vault.Tx) error {
		s := vault.Store{Tx: tx}
		l, err := namedGroup(s, which)
		if err != nil {
			return err
		}
		picture, err = c.groups.engine.Picture(s, l.Group)
		if errors.Is(err, group.ErrBusy) {
			err = ErrPictureAway
		}
		if errors.Is(err, group.ErrUnknown) {
			return nil // left
		}
		return err
	})
	if err != nil || len(picture) == 0 {
		return nil, vaultError(err)
	}
	if !goodPicture(picture) {
		return nil, ErrPicture
	}
	return picture, nil
}
