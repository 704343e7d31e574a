package client

import (
	"fmt"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/link"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Rows of the vault's meta table that a link needs while it is under way.
const (
	metaLink = 32 // linkState, on the device that offers
	metaJoin = 33 // joinState, on the one that joins
	// metaParting holds linkStates that are over, whose farewell is still to come.
	metaParting = 34
	// metaPiece + number is a message that is ready to go; A tells them from all else.
	metaPiece  = 1 << 33
	columnLink = 2
)

// linkPhase is how far the device is that offers.
type linkPhase byte

const (
	phaseOffered  linkPhase = 1 // waits for an answer
	phaseAnswered linkPhase = 2 // waits for the digits
	phaseSending  linkPhase = 3 // the pack goes over
	phaseAdmitted linkPhase = 4 // the device is in the manifest; it has not said that it has it
	phaseEnding   linkPhase = 5 // given up: the other side is to be told
)

// Bounds of a link.
const (
	linkWindow  = 24             // messages under way
	linkWithin  = 24 * time.Hour // from the digits to the end of the pack
	linkTries   = 3              // for the digits
	linkKept    = 7              // days that the last message lies at the relay
	linkPieceIn = 4              // chunks in a piece
)

// linkState is a link on the device that offers. All that it needs after a crash is
// here: what was put is put again, byte for byte.
type linkState struct {
	Phase     linkPhase             `cbor:"1,keyasint"`
	Realm     contact.Realm         `cbor:"2,keyasint"`
	Secret    [link.SecretSize]byte `cbor:"3,keyasint"`
	Offer     []byte                `cbor:"4,keyasint"` // the blob
	Entry     []byte                `cbor:"5,keyasint"` // hash of the realm invite in it, until the relay has it
	Put       bool                  `cbor:"6,keyasint"` // the relay has the offer, and in later phases the reveal
	Ephemeral []byte                `cbor:"7,keyasint"` // until the answer
	Nonce     [32]byte              `cbor:"8,keyasint"`
	Expires   int64                 `cbor:"9,keyasint"`  // unix seconds: of the code, then of the digits, then of all
	Ports     []string              `cbor:"10,keyasint"` // where it listens
	First     []byte                `cbor:"11,keyasint"`
	Root      []byte                `cbor:"12,keyasint"`
	Digits    string                `cbor:"13,keyasint"`
	Sign      key.SignPublic        `cbor:"14,keyasint"` // the new device
	DH        key.DHPublic          `cbor:"15,keyasint"`
	XWing     [32]byte              `cbor:"16,keyasint"`
	Name      string                `cbor:"17,keyasint"`
	Reveal    []byte                `cbor:"18,keyasint"`
	Tries     int                   `cbor:"19,keyasint"` // wrong ones
	Next      uint32                `cbor:"20,keyasint"` // number of the next message
	Acked     uint32                `cbor:"21,keyasint"` // messages before it are on the new device
	OnRelay   uint32                `cbor:"22,keyasint"` // messages before it need not be put any more
	Up        uint32                `cbor:"23,keyasint"` // number of the next state by the relay
	Header    []byte                `cbor:"24,keyasint"` // of the pack's stream
	Chunk     uint32                `cbor:"25,keyasint"` // next of it
	Sealed    bool                  `cbor:"26,keyasint"` // its last one is ready
	Pack      *vault.Packed         `cbor:"27,keyasint"`
	Card      []byte                `cbor:"28,keyasint"` // of this device, for the new one
	Why       link.Why              `cbor:"29,keyasint"`
	Why2      string                `cbor:"30,keyasint"` // the reason in words
}

// admission is what the new device gets at the end.
type admission struct {
	Manifest []byte  `cbor:"1,keyasint"`
	Card     []byte  `cbor:"2,keyasint"` // of the device that offers
	Profile  profile `cbor:"3,keyasint"`
}

func (s *linkState) code() link.Code { return link.Code{Relay: s.Realm.Name, Secret: s.Secret} }

// goesOn reports whether the rest of a link needs nothing of this device: the new one
// is on the list, and what tells it so lies at the relay.
func (s *linkState) goesOn() bool { return s.Phase == phaseAdmitted && s.OnRelay >= s.Next }

// device is the new device as the manifest lists it.
func (s *linkState) device() manifest.Device {
	return manifest.Device{Sign: s.Sign, DH: s.DH, XWing: s.XWing}
}

// offer reads our own offer back.
func (s *linkState) offer() (*link.Offer, error) {
	return link.OpenOffer(s.code(), s.Offer, time.Unix(s.Expires, 0))
}

func sessionOf(first, root []byte, digits string) (*link.Session, error) {
	s := &link.Session{Digits: digits}
	var err error
	if s.First, err = key.New[key.LinkRole](first); err != nil {
		return nil, vault.ErrDamaged
	}
	if s.Root, err = key.New[key.LinkRole](root); err != nil {
		return nil, vault.ErrDamaged
	}
	return s, nil
}

func (s *linkState) session() (*link.Session, error) { return sessionOf(s.First, s.Root, s.Digits) }

// readMeta reads a thing that there is one of.
func readMeta(tx *vault.Tx, id int64, v any) (found bool, err error) {
	row, found, err := tx.Get(vault.Meta, id)
	if err != nil || !found {
		return false, err
	}
	if cbor.Unmarshal(row.V, v) != nil {
		return false, vault.ErrDamaged
	}
	return true, nil
}

func writeMeta(tx *vault.Tx, id int64, v any) error {
	raw, err := cbor.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing a link: %w", err)
	}
	return tx.Put(vault.Meta, vault.Row{ID: id, V: raw})
}

func putMessage(tx *vault.Tx, n uint32, blob []byte) error {
	return tx.Put(vault.Meta, vault.Row{ID: metaPiece + int64(n), A: columnLink, V: blob})
}

// dropMessages forgets messages before a number.
func dropMessages(tx *vault.Tx, from, before uint32) error {
	for n := from; n < before; n++ {
		if err := tx.Delete(vault.Meta, metaPiece+int64(n)); err != nil {
			return err
		}
	}
	return nil
}

// linkBlob is how a blob of a link is put.
func linkBlob(id wire.BlobID, capability [32]byte, content []byte, days byte) *wire.BlobPut {
	return &wire.BlobPut{Kind: wire.BlobFile, Days: days, Capability: capabilityHash(capability), ID: id, Content: content}
}
