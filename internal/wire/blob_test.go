package wire

import (
	"bytes"
	"errors"
	"testing"
)

func file() *BlobPut {
	return &BlobPut{Kind: BlobFile, Days: 7, Capability: [32]byte{1}, ID: BlobID{2}, Content: bytes.Repeat([]byte{3}, 4096)}
}

func slot() *BlobPut {
	return &BlobPut{Kind: BlobSlot, ID: BlobID{2}, Content: bytes.Repeat([]byte{3}, 16384)}
}

func TestBlobsHaveOneForm(t *testing.T) {
	for _, n := range BlobClasses {
		for _, p := range []*BlobPut{file(), slot()} {
			p.Content = bytes.Repeat([]byte{9}, n)
			b, err := p.Append(nil)
			if err != nil || len(b) != BlobHeaderSize+n {
				t.Fatalf("%d bytes: got %d, %v", n, len(b), err)
			}
			got, err := ParseBlobPut(b)
			if err != nil || got.Kind != p.Kind || got.Days != p.Days || got.Capability != p.Capability || got.ID != p.ID || !bytes.Equal(got.Content, p.Content) {
				t.Errorf("%d bytes: got another put, %v", n, err)
			}
		}
	}
}

func TestHostileBlobsAreRefused(t *testing.T) {
	for name, change := range map[string]func(p *BlobPut){
		"no kind": func(p *BlobPut) { p.Kind = 0 }, "kind 3": func(p *BlobPut) { p.Kind = 3 },
		"no days": func(p *BlobPut) { p.Days = 0 }, "31 days": func(p *BlobPut) { p.Days = 31 },
		"slot with days":         func(p *BlobPut) { p.Kind, p.Capability = BlobSlot, [32]byte{} },
		"slot with a capability": func(p *BlobPut) { p.Kind, p.Days = BlobSlot, 0 },
		"empty":                  func(p *BlobPut) { p.Content = nil }, "a byte short": func(p *BlobPut) { p.Content = p.Content[1:] },
		"a byte long": func(p *BlobPut) { p.Content = append(p.Content, 0) }, "between classes": func(p *BlobPut) { p.Content = make([]byte, 8192) },
		"over the largest": func(p *BlobPut) { p.Content = make([]byte, MaxBlob+1) },
	} {
		p := file()
		change(p)
		if b, err := p.Append(nil); b != nil || !errors.Is(err, ErrBlob) {
			t.Errorf("appending, %s: got %d bytes, %v, want %v", name, len(b), err, ErrBlob)
		}
		raw := append([]byte{byte(p.Kind), p.Days}, p.Capability[:]...)
		raw = append(append(raw, p.ID[:]...), p.Content...)
		if _, err := ParseBlobPut(raw); !errors.Is(err, ErrBlob) {
			t.Errorf("%s: got %v, want %v", name, err, ErrBlob)
		}
	}
	for n := range BlobHeaderSize + 1 {
		if _, err := ParseBlobPut(make([]byte, n)); !errors.Is(err, ErrBlob) {
			t.Errorf("%d bytes: got %v, want %v", n, err, ErrBlob)
		}
	}
}

func TestReceiptsHaveOneForm(t *testing.T) {
	r := Receipt{ID: BlobID{1}, Hash: [32]byte{2}, Sig: [64]byte{3}}
	b := r.Append(nil)
	if got, err := ParseReceipt(b); err != nil || got != r || len(b) != ReceiptSize {
		t.Errorf("got %+v, %v of %d bytes, want %+v", got, err, len(b), r)
	}
	for _, n := range []int{0, 1, ReceiptSize - 1, ReceiptSize + 1} {
		if _, err := ParseReceipt(make([]byte, n)); !errors.Is(err, ErrBlob) {
			t.Errorf("%d bytes: got %v, want %v", n, err, ErrBlob)
		}
	}
}

func FuzzParseBlobPut(f *testing.F) {
	for _, p := range []*BlobPut{file(), slot()} {
		b, err := p.Append(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:BlobHeaderSize], uint32(len(p.Content)))
	}
	f.Fuzz(func(t *testing.T, head []byte, n uint32) {
		b := append(bytes.Clone(head), make([]byte, n%(MaxBlob+2))...)
		p, err := ParseBlobPut(b)
		if err != nil {
			return
		}
		if got, err := p.Append(nil); err != nil || !bytes.Equal(got, b) {
			t.Errorf("got %d other bytes, %v", len(got), err)
		}
	})
}

func FuzzParseReceipt(f *testing.F) {
	f.Add(make([]byte, ReceiptSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ParseReceipt(b)
		if err != nil {
			return
		}
		if got := r.Append(nil); !bytes.Equal(got, b) {
			t.Errorf("got %x, want %x", got, b)
		}
	})
}
