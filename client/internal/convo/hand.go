package convo

import (
	"bytes"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/manifest"
)

// A device that was just linked is known to some of its sisters only. What another
// one tells meanwhile reaches those that it knows, and each of them hands on what was
// new to it. So nothing depends on who hears of the new device first.
//
// spec: content.md#what-a-device-hands-on

// Bounds of what is given to a device that is new to this one.
const (
	handDays  = 60       // the oldest text
	toldDays  = 30       // the oldest text of which it is told what became of it
	handBytes = 32 << 10 // of entries in one message, about
	// A link takes a day at most, after which the manifest is signed; its end tells
	// the day of that. One more for clocks.
	linkDays = manifest.LifeDays + 1 + 2
)

// handOn gives what was new in a sync to those of our other devices that its author
// did not know when it wrote it: known is the newest manifest of ours that it knew.
func (e *Engine) handOn(tx Tx, now time.Time, from *contact.Record, known uint32, s *content.Sync, ch *Change) error {
	if s.Copy == nil && len(s.Entries) == 0 && len(s.Read) == 0 && len(s.Ends) == 0 {
		return nil
	}
	own, err := e.others(tx)
	if err != nil {
		return err
	}
	for _, d := range own {
		if d.ID == from.ID || knew(known, d) {
			continue
		}
		if err := e.tellOne(tx, now, d, s, ch); err != nil {
			return err
		}
	}
	return nil
}

// knew reports whether the author of something wrote it to a device of ours, too.
// One that is being linked is in no manifest yet.
func knew(known uint32, d *contact.Record) bool { return d.Joined != 0 && known >= d.Joined }

// handSince returns from when on a device that is new to this one may lack what this
// one has: since the pack that it was given was begun, and all that still waits for a
// sister, which then was in no pack.
func (e *Engine) handSince(tx Tx, now time.Time) (int64, error) {
	since := min(now.Unix(), int64(e.Self.Manifest.NotAfter)-linkDays*daySeconds)
	own, err := e.others(tx)
	if err != nil {
		return 0, err
	}
	for _, d := range own {
		rows, err := tx.RowsOf(d.ID)
		if err != nil {
			return 0, err
		}
		for _, row := range rows {
			since = min(since, row.Born)
		}
	}
	return max(since, now.Unix()-handDays*daySeconds), nil
}

// handOver tells a device that is new to this one, once, what nobody may have told it:
// what this one set of what our devices share, texts since a time, and what became of
// those of the last weeks.
func (e *Engine) handOver(tx Tx, now time.Time, d *contact.Record, since int64, ch *Change) error {
	var some content.Sync
	size := 0
	flush := func() error {
		if len(some.Entries) == 0 && len(some.Read) == 0 && len(some.Ends) == 0 {
			return nil
		}
		s := some
		some, size = content.Sync{}, 0
		return e.tellOne(tx, now, d, &s, ch)
	}
	err := tx.EachShared(func(entry *content.Entry) error {
		if entry.Device != e.Self.Name() {
			return nil // whoever set it tells it
		}
		n := len(entry.Key) + len(entry.Value)
		if len(some.Entries) == content.MaxEntries || size+n > handBytes {
			if err := flush(); err != nil {
				return err
			}
		}
		some.Entries, size = append(some.Entries, *entry), size+n
		return nil
	})
	if err != nil {
		return err
	}
	people, err := tx.Contacts()
	if err != nil {
		return err
	}
	told := now.Unix() - toldDays*daySeconds
	for _, p := range people {
		if !p.Known || p.State != contact.Accepted {
			continue
		}
		err := tx.Events(p.ID, 0, func(ev *Event) error {
			name, named := ev.Name()
			if !named {
				return nil
			}
			if ev.At >= since {
				if err := e.tellOne(tx, now, d, syncOf(p, ev), ch); err != nil {
					return err
				}
			}
			switch {
			case ev.At >= since || ev.At < told:
			case ev.Out && (ev.State == OnDevice || ev.State == Expired || ev.State == Unsent):
				if some.Ends == nil {
					some.Ends = map[content.Name]byte{}
				}
				some.Ends[name] = byte(ev.State)
			case !ev.Out && (ev.Seen || ev.Seq <= p.Read):
				some.Read = append(some.Read, name)
			}
			if len(some.Ends) == content.MaxNames || len(some.Read) == content.MaxNames {
				return flush()
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return flush()
}

// listed tells our other devices of a contact's newest manifest, unless they were: so
// a device that was revoked is known as such to all of ours as soon as to one.
func (e *Engine) listed(tx Tx, now time.Time, p *contact.Record, ch *Change) error {
	if !p.Known || p.State != contact.Accepted {
		return nil
	}
	own, err := e.others(tx)
	if err != nil || len(own) == 0 {
		return err
	}
	k := contactKey(keyList, p.Root)
	was, err := tx.Shared(k)
	if err != nil || was != nil && bytes.Equal(was.Value, p.Manifest) {
		return err
	}
	return e.agree(tx, now, k, slices.Clone(p.Manifest), ch)
}
