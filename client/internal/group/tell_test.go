package group

import (
	"bytes"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
)

// A Welcome to a large group is longer than what one label can hash.
func TestLongWordsGoInParts(t *testing.T) {
	payload := bytes.Repeat([]byte{byte(WordWelcome), 2, 3}, 100_000)
	w := &work{ch: &Change{}}
	w.word(Device{1}, key.SignPublic{2}, payload)
	var got []byte
	for i, x := range w.ch.Words {
		var p Part
		if x.Payload[0] != byte(WordPart) || len(x.Payload) > MaxWord || decode(x.Payload[1:], &p) != nil {
			t.Fatal("got no part of a word")
		}
		if int(p.Place) != i || int(p.Of) != len(w.ch.Words) {
			t.Errorf("got part %d of %d, want %d of %d", p.Place, p.Of, i, len(w.ch.Words))
		}
		got = append(got, p.Bytes...)
	}
	if !bytes.Equal(got, payload) {
		t.Error("the parts are not the word")
	}
}
