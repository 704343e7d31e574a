package convo

import (
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/session"
)

// upgradeEvery is how often a session is begun in a newer suite while none was
// answered, and how long the end with the greater root leaves it to the other.
const upgradeEvery = 24 * time.Hour

// upgrade brings a contact whose session is of an older suite to the newest: it
// tells their device once that ours begins sessions in it, and begins one when
// theirs has said the same. A device of before never sees a hello that it would
// refuse, and until the other end has shown that it has the new session, all is
// sealed in the old one.
//
// spec: hello.md#a-newer-suite
func (e *Engine) upgrade(tx Tx, now time.Time, r *contact.Record, ch *Change) error {
	s, err := primary(tx, r.ID)
	if errors.Is(err, ErrBlocked) || err == nil && s.Suite() >= session.Suite {
		return nil
	}
	if err != nil {
		return err
	}
	if r.Told < session.Suite {
		r.Told = session.Suite
		ctl := &content.Control{Suite: session.Suite, Level: contact.LevelDevices}
		// With the prekeys they can begin; and a version that does not know of
		// suites finds something in the message that it does know.
		if err := e.prekeys(now, r, ctl); err != nil {
			return err
		}
		if err := tx.PutContact(r); err != nil {
			return err
		}
		if _, err := e.write(tx, now, r, &content.Content{Sent: uint64(now.Unix()), Control: ctl}, Row{}, ch); err != nil {
			return err
		}
	}
	// A time that lies further ahead is from before the clock was set.
	wait := time.Unix(r.Moving, 0).Sub(now)
	if r.Suite < session.Suite || len(r.Prekeys) == 0 || wait > 0 && wait <= upgradeEvery {
		return nil
	}
	if kept, err := helloKept(tx, now, r); err != nil || kept {
		return err
	}
	r.Moving = now.Add(upgradeEvery).Unix()
	fresh, err := e.begin(tx, now, r, ch)
	if err != nil {
		return err
	}
	defer fresh.Wipe()
	return contact.PutAside(tx, r.ID, fresh, now)
}

// helloKept reports whether a hello of ours lies in their relay's keeping. They
// find it when they come back. Another one would lie beside it, and they would take
// the first, whose route is given up by then, and in the end its session, too.
func helloKept(tx Tx, now time.Time, r *contact.Record) (bool, error) {
	row, err := tx.RowOf(r.ID, r.Hello)
	if errors.Is(err, ErrGone) {
		return false, nil
	}
	return err == nil && row.Parked > now.Unix(), err
}

// heardSuite notes the suite that a contact's device begins sessions in. The end
// with the smaller root begins at once. The other one tells its own again, which
// they may have read before they knew of it, and waits.
func (e *Engine) heardSuite(now time.Time, r *contact.Record, suite byte) {
	r.Suite, r.Moving = suite, 0
	if !e.leads(r) {
		r.Told, r.Moving = 0, now.Add(upgradeEvery).Unix()
	}
}
