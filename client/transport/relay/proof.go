package relay

import (
	"fmt"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// add asks the relay to watch a set, in frames of at most 512 proofs. A frame
// wants a replay for all of its addresses or for none, so those that do want
// one go first, in frames of their own.
func (w *watch) add(set []transport.Owned, first bool) error {
	var some [2][]transport.Owned
	w.mu.Lock()
	for _, o := range set {
		if w.set[o.Address] {
			continue
		}
		w.set[o.Address] = true
		i := 1
		if o.Replay {
			i = 0
		}
		some[i] = append(some[i], o)
	}
	all := len(w.set)
	w.mu.Unlock()
	if all > wire.MaxWatched {
		return &fault{text: "watching too many addresses", kind: transport.ErrRefused}
	}
	n := all - len(some[0]) - len(some[1])
	for i, owned := range some {
		for len(owned) > 0 {
			k := min(len(owned), wire.MaxWatch)
			n += k
			q := asked{addresses: n, replay: i == 0, last: first && n == all}
			if err := w.ask(owned[:k], q); err != nil {
				return err
			}
			owned = owned[k:]
			if err := w.echo(); err != nil { // signing takes a while
				return err
			}
			if err := w.caller.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask sends one watch frame.
//
// spec: relay-api.md#proof
func (w *watch) ask(owned []transport.Owned, q asked) error {
	b := make([]byte, 0, wire.WatchHeader+len(owned)*wire.ProofSize)
	b = appendWatch(b, q.replay, w.Period)
	p := wire.Proof{Realm: w.realm, Binding: w.binding, Nonce: w.nonce, Verb: wire.VerbWatch, Period: w.Period}
	for _, o := range owned {
		p.Address = wire.Address(o.Address)
		signature, err := o.Sign(p.Append(nil))
		if err != nil {
			return fmt.Errorf("signing proof: %w", err)
		}
		if len(signature) != wire.ProofSize-wire.AddressSize {
			return fmt.Errorf("signing proof: signature has %d bytes", len(signature))
		}
		b = append(append(b, o.Address[:]...), signature...)
	}
	w.mu.Lock()
	w.asked = append(w.asked, q) // before the answer can come
	w.mu.Unlock()
	return w.write(b)
}
