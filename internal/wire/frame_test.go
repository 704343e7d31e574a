package wire

import (
	"bytes"
	"errors"
	"testing"
)

func TestSizesOfTheFrames(t *testing.T) {
	for name, c := range map[string][2]int{
		"put": {PutSize, 1320}, "answer": {AnswerSize, 11}, "POST put": {PostPutSize, 1336}, "greeting": {GreetingSize, 105},
		"deliver": {DeliverSize, 1321}, "watched": {WatchedSize, 7}, "proof": {ProofSize, 96}, "second": {SecondSize, 72},
		"refused": {RefusedSize, 2}, "largest": {MaxFrame, 84480}, "watch header": {WatchHeader, 10},
		"receipt": {ReceiptSize, 128}, "blob header": {BlobHeaderSize, 66},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: got %d, want %d", name, c[0], c[1])
		}
	}
	// Every frame is within the one bound that a reader allocates by.
	for name, n := range map[string]int{
		"watch": WatchHeader + MaxWatch*ProofSize, "unwatch of as many": 1 + MaxWatch*AddressSize,
		"echo": 1 + MaxEchoes*EchoNonceSize, "deliver": DeliverSize, "greeting": GreetingSize, "answers": MaxPuts * AnswerSize,
	} {
		if n > MaxFrame {
			t.Errorf("%s: %d bytes are more than a frame may have", name, n)
		}
	}
}

func TestAnswersHaveOneForm(t *testing.T) {
	for _, a := range []Answer{
		{}, {ID: [8]byte{1, 2, 3, 4, 5, 6, 7, 8}, Delivered: 0x0102, Complete: true}, {Delivered: 65535}, {Complete: true},
	} {
		p := a.Append(nil)
		if got, err := ParseAnswer(p); err != nil || got != a || len(p) != AnswerSize {
			t.Errorf("got %+v, %v of %d bytes, want %+v", got, err, len(p), a)
		}
	}
	want := []byte{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 1}
	if got := (Answer{ID: [8]byte{1, 2, 3, 4, 5, 6, 7, 8}, Delivered: 258, Complete: true}).Append(nil); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	for name, p := range map[string][]byte{
		"empty": nil, "short": want[:10], "long": append(bytes.Clone(want), 0), "complete 2": append(bytes.Clone(want[:10]), 2),
		"complete 255": append(bytes.Clone(want[:10]), 255),
	} {
		if got, err := ParseAnswer(p); !errors.Is(err, ErrFrame) {
			t.Errorf("%s: got %+v, %v, want %v", name, got, err, ErrFrame)
		}
	}
}

// Whatever differs between two proofs must differ in what is signed.
func TestProofCoversAllOfItsFields(t *testing.T) {
	base := Proof{
		Realm: [32]byte{1}, Binding: [32]byte{2}, Nonce: [32]byte{3}, Address: Address{4}, Verb: VerbWatch, Period: 5,
	}
	got := base.Append([]byte("x"))[1:]
	want := append([]byte(LabelProof), 0)
	for i := range byte(4) {
		want = append(append(want, i+1), make([]byte, 31)...)
	}
	want = append(want, 1, 0, 0, 0, 0, 0, 0, 0, 5)
	if !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	seen := map[string]string{string(got): "base"}
	for name, change := range map[string]func(p *Proof){
		"realm": func(p *Proof) { p.Realm[31]++ }, "binding": func(p *Proof) { p.Binding[31]++ }, "nonce": func(p *Proof) { p.Nonce[31]++ },
		"address": func(p *Proof) { p.Address[31]++ }, "take": func(p *Proof) { p.Verb = VerbTake }, "ack": func(p *Proof) { p.Verb = VerbAck },
		"period": func(p *Proof) { p.Period++ }, "far period": func(p *Proof) { p.Period += 1 << 56 },
	} {
		p := base
		change(&p)
		m := string(p.Append(nil))
		if old, ok := seen[m]; ok || len(m) != len(want) {
			t.Errorf("%s signs the same as %s, or %d bytes", name, old, len(m))
		}
		seen[m] = name
	}
}

func TestReasonsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range []Reason{ReasonProof, ReasonPeriod, ReasonLimit, ReasonFrame} {
		if s := r.String(); s == "" || seen[s] {
			t.Errorf("reason %d: got %q", r, s)
		} else {
			seen[s] = true
		}
	}
	if got, want := Reason(200).String(), ReasonFrame.String(); got != want {
		t.Errorf("unknown reason: got %q, want %q", got, want)
	}
}

func FuzzParseAnswer(f *testing.F) {
	f.Add(Answer{ID: [8]byte{1}, Delivered: 2, Complete: true}.Append(nil))
	f.Fuzz(func(t *testing.T, p []byte) {
		a, err := ParseAnswer(p)
		if err != nil {
			return
		}
		if got := a.Append(nil); !bytes.Equal(got, p) {
			t.Errorf("got %x, want %x", got, p)
		}
	})
}
