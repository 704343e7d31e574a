package group

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

// MaxPicture bounds the picture of a group, in bytes.
const MaxPicture = 48 << 10

// pictureRefSize is the size of what the state has of a picture: version 1 ‖ size 4 ‖
// hash 32. The picture itself goes from member to member.
const pictureRefSize = 1 + 4 + 32

// A picture is asked for as news are told: again after 1, 2, 4 … min, up to pictureMost.
const (
	pictureMost   = 6 * time.Hour
	pictureSpread = 10               // seconds within which it is asked for first
	pictureEvery  = 10 * time.Minute // one member is given it at most so often
)

// PictureRef is what the state of a group has of a picture; nil for none.
//
// spec: group.md#picture
func PictureRef(picture []byte) []byte {
	if len(picture) == 0 {
		return nil
	}
	sum := sha256.Sum256(picture)
	h := key.Hash("tacet/v1/group/picture", sum[:])
	return append(binary.BigEndian.AppendUint32([]byte{1}, uint32(len(picture))), h[:]...)
}

// goodRef reports whether this version knows what a reference means.
func goodRef(ref []byte) bool {
	return len(ref) == pictureRefSize && ref[0] == 1 && binary.BigEndian.Uint32(ref[1:]) <= MaxPicture
}

// pictureNotes is where the pictures of a group and of those it was made again as lie.
func pictureNotes(origin ID) string { return "picture/" + hex.EncodeToString(origin[:]) + "/" }

func pictureNote(origin ID, ref []byte) string { return pictureNotes(origin) + hex.EncodeToString(ref) }

// SetPicture wants another picture for a group; an empty one takes it away. What is in
// it is not looked at. It fails with ErrUnknown, ErrLeft and ErrLong, and as Want does.
//
// spec: group.md#picture
func (e *Engine) SetPicture(tx Tx, now time.Time, id ID, picture []byte) (*Change, error) {
	if len(picture) > MaxPicture {
		return nil, ErrLong
	}
	g, err := e.work(tx, now).member(id)
	if err != nil {
		return nil, err
	}
	ref := PictureRef(picture)
	if err := g.want(roster.Wish{Kind: roster.SetPicture, Bytes: ref}); err != nil {
		return nil, err
	}
	if ref != nil {
		if err := tx.PutNote(pictureNote(g.r.Origin, ref), picture); err != nil {
			return nil, err
		}
	}
	if err := g.due(false); err != nil {
		return nil, err
	}
	return g.ch, g.save()
}

// Picture returns the picture of a group: nil where it has none, and ErrBusy while no
// member has given it to this device yet.
func (e *Engine) Picture(tx Tx, id ID) ([]byte, error) {
	r, err := tx.Group(id)
	if err != nil {
		return nil, err
	}
	h, err := tx.Epoch(id, r.Head)
	if err != nil {
		return nil, err
	}
	s, err := roster.ParseState(h.State)
	if err != nil || !goodRef(s.Picture) {
		return nil, err
	}
	b, err := tx.Note(pictureNote(r.Origin, s.Picture))
	if errors.Is(err, ErrUnknown) {
		err = ErrBusy
	}
	return b, err
}

// tendPicture asks for the picture of the state that this device does not have, and
// drops the one before.
func (g *group) tendPicture() error {
	h, err := g.head()
	if err != nil {
		return err
	}
	s, err := h.agreed()
	if err != nil {
		return err
	}
	if !bytes.Equal(g.r.Picture, s.Picture) {
		if err := g.otherPicture(s.Picture); err != nil {
			return err
		}
	}
	if g.r.PictureAsk == 0 {
		return nil
	}
	if g.unix() < g.r.PictureAsk {
		g.at(g.r.PictureAsk)
		return nil
	}
	var to []roster.Leaf
	for _, l := range h.others() {
		if no, err := g.unwanted(l); err != nil {
			return err
		} else if !no {
			to = append(to, l)
		}
	}
	g.r.PictureAsk = g.unix() + min(60<<min(g.r.PictureAsks, 12), seconds(pictureMost))
	g.at(g.r.PictureAsk)
	if len(to) == 0 {
		return nil
	}
	i, err := g.random(int64(len(to)))
	if err != nil {
		return err
	}
	for at, l := range to {
		// Who set it has it; where many want it at once, most ask somebody else.
		if g.r.PictureAsks == 0 && l.Device == g.r.PictureBy && len(to) <= roster.SharedAbove {
			i = int64(at)
		}
	}
	g.r.PictureAsks++
	return g.sayObject(h, append([]byte{byte(ObjectLook)}, g.r.Picture...), to[i:i+1])
}

// unwanted reports whether the person of this device does not want to hear a member.
func (g *group) unwanted(l roster.Leaf) (bool, error) {
	if g.Unwanted == nil {
		return false, nil
	}
	return g.Unwanted(g.tx, l.Root)
}

// otherPicture notes that the state has another picture.
func (g *group) otherPicture(ref []byte) error {
	g.r.Picture, g.r.PictureAsk, g.r.PictureAsks = bytes.Clone(ref), 0, 0
	keep := [][]byte{ref}
	for _, o := range g.r.Wishes { // of this device, perhaps
		if w, err := o.read(); err == nil && w.Kind == roster.SetPicture {
			keep = append(keep, w.Bytes)
		}
	}
	names, err := g.tx.Notes(pictureNotes(g.r.Origin))
	if err != nil {
		return err
	}
	have := false
	for _, n := range names {
		kept := false
		for _, k := range keep {
			kept = kept || n == pictureNote(g.r.Origin, k)
		}
		have = have || n == pictureNote(g.r.Origin, ref)
		if !kept {
			if err := g.tx.DeleteNotes(n); err != nil {
				return err
			}
		}
	}
	if have || !goodRef(ref) {
		return nil
	}
	after, err := g.random(pictureSpread)
	g.r.PictureAsk = g.unix() + after
	return err
}

// hearLook gives a member the picture that it asked for.
func (g *group) hearLook(from roster.Leaf, ref []byte) error {
	h, err := g.head()
	if err != nil {
		return err
	}
	if l, in := leafOf(h.Roster, from.Device); !in || !goodRef(ref) || !bytes.Equal(ref, g.r.Picture) {
		return nil
	} else {
		from = l
	}
	if no, err := g.unwanted(from); err != nil || no {
		return err // an answer would tell them that this device is there
	}
	picture, err := g.tx.Note(pictureNote(g.r.Origin, ref))
	if errors.Is(err, ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	if ok, err := g.every(groupNotes(g.r.ID)+"look/"+hex.EncodeToString(from.Device[:]), pictureEvery); err != nil || !ok {
		return err
	}
	// Always under one id: of dozens of cells one may be lost each time.
	return g.sayObjectAs(h, [16]byte(ref[len(ref)-16:]), append([]byte{byte(ObjectPicture)}, picture...), []roster.Leaf{from})
}

// hearPicture takes the picture that this device asked for: the state names its hash, so
// it does not matter who gives it.
func (g *group) hearPicture(picture []byte) error {
	if len(picture) > MaxPicture || g.r.PictureAsk == 0 || !bytes.Equal(PictureRef(picture), g.r.Picture) {
		return nil
	}
	g.r.PictureAsk, g.r.PictureAsks = 0, 0
	return g.tx.PutNote(pictureNote(g.r.Origin, g.r.Picture), bytes.Clone(picture))
}
