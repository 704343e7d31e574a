package purse

import (
	"bytes"
	"context"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/token"
)

// Labels of a realm's gate.
const (
	labelCredential = "tacet/v1/gate/credential" // part: credential 32
	labelInvite     = "tacet/v1/gate/invite"     // part: secret 32
)

// JoinSize is the size of a request to become a member: secret 32 ‖ credential hash 32.
const JoinSize = 64

// InviteHash is what a realm keeps of an invite.
func InviteHash(secret [32]byte) [32]byte { return key.Hash(labelInvite, secret[:]) }

// Join begins to become a member of a realm, or goes on with it: the credential
// is committed before anybody hears of it, so that after a crash the same request
// is made and takes no second use of the invite. It returns nil if this device is
// a member already, unless the realm has said that it knows of no such member.
//
// spec: purse.md#becoming-a-member
func (p *Purse) Join(ctx context.Context, pin [32]byte, name string, secret [32]byte) (request []byte, err error) {
	err = p.Store.Update(ctx, func(tx Tx) error {
		request = nil
		r, err := p.record(tx, pin, name)
		if err != nil || r.Member && r.Trouble != Outside {
			return err
		}
		if r.Credential == nil {
			if r.Credential, err = p.random(); err != nil {
				return err
			}
		}
		r.Secret = bytes.Clone(secret[:])
		hash := key.Hash(labelCredential, r.Credential)
		request = append(append(make([]byte, 0, JoinSize), secret[:]...), hash[:]...)
		return tx.PutPurseRealm(r)
	})
	return request, err
}

// record returns the record of a realm, a new one if need be.
func (p *Purse) record(tx Tx, pin [32]byte, name string) (*Realm, error) {
	r, err := tx.PurseRealm(pin)
	if err != nil {
		return nil, err
	}
	if r == nil { // however many realms others made us know
		r = &Realm{Pin: pin, Parts: 1}
	}
	if name != "" {
		r.Name = name
	}
	return r, nil
}

// Joined notes that the realm took our credential.
func (p *Purse) Joined(ctx context.Context, pin [32]byte) error {
	now := p.now().Unix()
	err := p.change(ctx, pin, func(r *Realm) {
		clear(r.Secret)
		if !r.Member { // what was bought with puzzles until now goes on being spent
			r.Had, r.Batches, r.First = nil, nil, 0
		}
		for i := range r.Batches { // that were refused while it did not know us: the very same again
			r.Batches[i].At, r.Batches[i].Tries = now, 0
		}
		r.Member, r.Secret, r.Puzzles, r.Trouble = true, nil, false, Fine
	})
	if err == nil {
		p.at(BoundaryJoined)
	}
	return err
}

// Refused notes that the realm did not let us in with the invite.
func (p *Purse) Refused(ctx context.Context, pin [32]byte) error {
	return p.change(ctx, pin, func(r *Realm) {
		clear(r.Secret)
		r.Secret = nil
	})
}

// Solve has batches of a realm bought with puzzles, unless this device is a member.
func (p *Purse) Solve(ctx context.Context, pin [32]byte, name string) error {
	return p.Store.Update(ctx, func(tx Tx) error {
		r, err := p.record(tx, pin, name)
		if err != nil || r.Member || r.Puzzles && r.Name == name {
			return err
		}
		r.Puzzles = true
		return tx.PutPurseRealm(r)
	})
}

// change changes the record of a realm that is there.
func (p *Purse) change(ctx context.Context, pin [32]byte, f func(*Realm)) error {
	return p.Store.Update(ctx, func(tx Tx) error {
		r, err := tx.PurseRealm(pin)
		if err != nil {
			return err
		}
		if r == nil {
			return ErrNoMember
		}
		f(r)
		return tx.PutPurseRealm(r)
	})
}

// Stands says how one stands with a realm.
type Stands struct {
	Wants  bool // it wants tokens
	Member bool
	Lost   bool // the realm does not know that we are a member
	Buys   bool // batches can be had: as a member, or with puzzles
	Gate   string
	Tokens bool // there is one that can be spent now
}

// Stands returns how one stands with a realm, as far as was heard.
func (p *Purse) Stands(ctx context.Context, pin [32]byte) (s Stands, err error) {
	err = p.Store.View(ctx, func(tx Tx) error {
		r, err := tx.PurseRealm(pin)
		if r == nil || err != nil {
			return err
		}
		c, err := pick(tx, r, 0, p.now().Unix())
		s = Stands{Wants: r.Wants, Member: r.Member, Lost: r.Member && r.Trouble == Outside, Gate: r.Gate, Buys: r.buys(), Tokens: c != nil}
		return err
	})
	return s, err
}

// Status is what a person may know of a realm's tokens.
type Status struct {
	Pin      [32]byte
	Name     string
	Wants    bool
	Member   bool
	Puzzles  bool
	Gate     string
	Left     int       // tokens that can be spent now
	Resting  int       // that cannot yet
	Reserve  int       // of Left, those of guests
	Next     time.Time // when there will be more, zero: not known
	Trouble  Trouble
	Linkable bool      // what is spent now may be linked to the first batch
	Renewed  time.Time // when it was last said that the realm lost its store; zero: never
}

// Status lists the realms that want tokens, or wanted some.
func (p *Purse) Status(ctx context.Context) (all []Status, err error) {
	now := p.now().Unix()
	err = p.Store.View(ctx, func(tx Tx) error {
		all = nil
		realms, err := tx.PurseRealms()
		if err != nil {
			return err
		}
		for _, r := range realms {
			st := Status{Pin: r.Pin, Name: r.Name, Wants: r.Wants, Member: r.Member, Puzzles: r.Puzzles, Gate: r.Gate, Trouble: r.Trouble, Linkable: now < r.Linkable}
			if r.Renewed != 0 {
				st.Renewed = time.Unix(r.Renewed, 0)
			}
			var next int64
			err := tx.Chunks(r.ID, 0, 0, func(c *Chunk) (bool, error) {
				n := len(c.Raw) / token.RawSize
				switch {
				case !token.Accepts(token.Kind(c.Kind), c.Epoch, now):
				case c.From > now:
					st.Resting += n
					next = sooner(next, c.From)
				default:
					st.Left += n
					if c.Kind == byte(token.Guest) {
						st.Reserve += n
					}
				}
				return true, nil
			})
			if err != nil {
				return err
			}
			for _, b := range r.Batches {
				at := max(b.At, now)
				if r.First&b.Kind != 0 {
					at += int64(restFor / time.Second)
				}
				next = sooner(next, at)
			}
			if next == 0 && r.buys() {
				next = int64(token.MemberEpoch(now)+1) * token.DaySeconds
			}
			if next != 0 {
				st.Next = time.Unix(next, 0)
			}
			all = append(all, st)
		}
		return nil
	})
	return all, err
}

func sooner(a, b int64) int64 {
	if a == 0 || b < a {
		return b
	}
	return a
}
