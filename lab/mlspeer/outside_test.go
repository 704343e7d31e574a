package mlspeer

import (
	"testing"

	"github.com/tacet-chat/tacet/internal/mls"
)

// TestExternalSenders has somebody outside of each implementation, whose key is in
// the group's external_senders, propose to a group of both, and either side commit.
func TestExternalSenders(t *testing.T) {
	w := newWorld(t, start(t), 1, seed(t))
	outside := []*person{w.people[8], w.people[9]}
	w.people = w.people[:8]
	w.found(w.externalSenders(outside))
	for i, from := range outside {
		for j := range 2 {
			committer := w.of(from.kind(), j == 0)
			pl := w.begin(committer, j == 0)
			for _, kind := range []string{"add", "remove", "external psk"} {
				p := w.invent(pl, kind, from)
				for p == nil { // not everybody may be removed
					p = w.invent(pl, kind, from)
				}
				info := w.bytes(committer.seat.groupInfo(false))
				w.deliver(w.bytes(from.proposeExternal(info, uint32(i), *p)), w.in())
				pl.kinds = append(pl.kinds, kind+" by "+from.kind()+" outside")
				pl.references++
			}
			w.finish(pl)
			w.check()
			w.talk()
		}
	}
	w.report()
}

// externalSenders is the extension that names those outside (RFC 9420, Section
// 12.1.8.1).
func (w *world) externalSenders(outside []*person) Extension {
	var list []mls.ExternalSender
	for _, p := range outside {
		list = append(list, mls.ExternalSender{SignatureKey: w.bytes(p.key()), Credential: mls.BasicCredential([]byte(p.name))})
	}
	e := mls.ExternalSendersExtension(list)
	return Extension{uint16(e.Type), e.Data}
}

// TestSuccessors has a group go on in another suite, begun and joined by either side.
func TestSuccessors(t *testing.T) {
	w := newWorld(t, start(t), 1, seed(t))
	w.found()
	for _, suite := range suites[1:] {
		if testing.Short() && suite > 3 {
			break
		}
		for _, kind := range w.kinds() {
			w.reinit(w.of(kind, true), w.of(kind, suite != 2), suite)
			w.check()
			w.talk()
			w.finish(w.begin(w.of(kind, false), true))
			w.check()
		}
	}
	w.report()
}
