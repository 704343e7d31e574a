package group

import (
	"bytes"
	"testing"
)

func FuzzSaid(f *testing.F) {
	ack, err := (&Said{Kind: SaidAck, Head: 7, Low: 6, Body: AppendAcks(nil, []Ack{{ID: [8]byte{1}, Parts: 1}})}).Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(ack)
	block, err := (&Said{Kind: SaidBlock, Flags: asks, Body: make([]byte, 1024)}).Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(block)
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseSaid(b)
		if err != nil {
			return
		}
		if again, err := s.Append(nil); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("got %x, %v, want %x", again, err, b)
		}
		if acks, err := ParseAcks(s.Body); err == nil && !bytes.Equal(AppendAcks(nil, acks), s.Body) {
			t.Errorf("acks: got %x, want %x", AppendAcks(nil, acks), s.Body)
		}
		if p, err := ParsePiece(s.Body); err == nil && !bytes.Equal(p.Append(nil), s.Body) {
			t.Errorf("piece: got %x, want %x", p.Append(nil), s.Body)
		}
	})
}
