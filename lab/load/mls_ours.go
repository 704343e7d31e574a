package load

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/tacet-chat/tacet/internal/mls"
)

// oursMLS is internal/mls as a subject, in a process of its own.
type oursMLS struct {
	suite    mls.Suite
	members  map[string]*mls.Group
	kept     map[string]keptPackage
	waiting  [][]byte // what "from" made and "to" has not opened
	somebody int
}

type keptPackage struct {
	public  *mls.KeyPackage
	secrets *mls.KeyPackageSecrets
}

// playMLS answers until its input ends.
func playMLS(in *bufio.Reader) error {
	m := &oursMLS{members: map[string]*mls.Group{}, kept: map[string]keptPackage{}}
	for {
		var o mlsOrder
		switch err := hear(in, &o); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		w := &mlsWord{}
		if err := m.do(o, w); err != nil {
			w = &mlsWord{Err: err.Error()}
		}
		if err := say(w); err != nil {
			return err
		}
	}
}

func mlsEnv() mls.Env {
	return mls.Env{Now: time.Now(), Rand: rand.Reader, Authenticate: func(mls.Credential, []byte) error { return nil }}
}

// leaf is somebody new. Names have the form that core-crypto wants, which also wants
// everybody to be able to read X.509 certificates.
func (m *oursMLS) leaf() (mls.LeafParams, error) {
	signer, _, err := mls.NewSignatureKey(rand.Reader, m.suite)
	m.somebody++
	now := uint64(time.Now().Unix())
	return mls.LeafParams{
		Suite: m.suite, Signer: signer,
		Credential:   mls.BasicCredential(fmt.Appendf(nil, "00000000-0000-4000-8000-000000000001:%x@example.org", m.somebody)),
		Capabilities: mls.Capabilities{Versions: []uint16{mls.Version}, Suites: []mls.Suite{m.suite}, Credentials: []mls.CredentialType{mls.CredentialBasic, mls.CredentialX509}},
		Lifetime:     mls.Lifetime{NotBefore: now - 3600, NotAfter: now + 2_000_000},
	}, err
}

func (m *oursMLS) keyPackage() (k keptPackage, err error) {
	l, err := m.leaf()
	if err == nil {
		k.public, k.secrets, err = mls.NewKeyPackage(mlsEnv(), l, nil)
	}
	return k, err
}

func (m *oursMLS) do(o mlsOrder, w *mlsWord) (err error) {
	switch o.Do {
	case "ready":
	case "hello":
		m.suite, w.About = mls.Suite(o.Suite), "internal/mls, "+runtime.Version()
	case "packages":
		for range o.Members {
			k, err := m.keyPackage()
			if err != nil {
				return err
			}
			k.secrets.Wipe()
			w.Packages = append(w.Packages, packageBytes(k.public))
		}
	case "found":
		m.members[o.Name], err = m.found()
	case "grow":
		m.members[o.Name], err = m.grow(o.Members)
	case "gather":
		w.Welcome, err = m.gather(o)
	case "info":
		w.Info, err = m.info(m.members[o.Name])
	case "enter":
		m.members[o.Name], w.Commit, err = m.enter(o.Info)
	case "package":
		m.kept[o.Name], err = m.keyPackage()
		if err == nil {
			w.Package = packageBytes(m.kept[o.Name].public)
		}
	case "join":
		m.members[o.Name], err = m.join(o)
	case "receive":
		_, err = open(m.members[o.Name], o.Commit)
	case "try": // what a commit leads to, and stay
		c := m.members[o.Name].Clone()
		m.members[o.To] = c
		_, err = open(c, o.Commit)
	case "agree":
		w.Authenticator = m.members[o.Name].EpochAuthenticator()
	case "forget":
		m.members[o.Name].Drop()
		delete(m.members, o.Name)
	case "turn":
		err = m.turn(o, w)
	default:
		err = fmt.Errorf("there is no %q", o.Do)
	}
	return err
}

func packageBytes(k *mls.KeyPackage) []byte {
	return (&mls.Message{Wire: mls.WireKeyPackage, KeyPackage: k}).Append(nil)
}

func (m *oursMLS) found() (*mls.Group, error) {
	l, err := m.leaf()
	if err != nil {
		return nil, err
	}
	id := make([]byte, 32)
	rand.Read(id)
	return mls.Create(mlsEnv(), mls.CreateParams{GroupID: id, Leaf: l})
}

func (m *oursMLS) info(g *mls.Group) ([]byte, error) {
	info, err := g.GroupInfo(mlsEnv(), mls.GroupInfoParams{External: true})
	if err != nil {
		return nil, err
	}
	return info.Append(nil), nil
}

func (m *oursMLS) enter(info []byte) (*mls.Group, []byte, error) {
	i, err := mls.ParseMessage(info)
	if err != nil {
		return nil, nil, err
	}
	l, err := m.leaf()
	if err != nil {
		return nil, nil, err
	}
	g, commit, err := mls.JoinExternal(mlsEnv(), i, mls.ExternalJoinParams{Leaf: l})
	if err != nil {
		return nil, nil, err
	}
	return g, commit.Append(nil), nil
}

// grow is a group in which each of so many members came by an external commit, and
// which the first has left again: no parent is blank but above that leaf.
func (m *oursMLS) grow(members int) (*mls.Group, error) {
	g, err := m.found()
	for n := 1; err == nil && n < members; n++ {
		var info []byte
		if info, err = m.info(g); err == nil {
			g.Drop()
			g, _, err = m.enter(info)
		}
	}
	if err == nil {
		_, err = commit(g, mls.CommitParams{Proposals: []*mls.Proposal{mls.RemoveProposal(0)}})
	}
	return g, err
}

// gather is a group of so many and two more, of whom nobody has committed.
func (m *oursMLS) gather(o mlsOrder) (welcome []byte, err error) {
	all := [][]byte{o.Packages[0]}
	for range o.Members {
		k, err := m.keyPackage()
		if err != nil {
			return nil, err
		}
		k.secrets.Wipe()
		all = append(all, packageBytes(k.public))
	}
	g, err := m.found()
	if err != nil {
		return nil, err
	}
	m.members[o.Name] = g
	s, err := stageAdd(g, append(all, o.Packages[1]))
	if err != nil {
		return nil, err
	}
	return s.Welcome.Append(nil), g.Merge(s)
}

func (m *oursMLS) join(o mlsOrder) (*mls.Group, error) {
	w, err := mls.ParseMessage(o.Welcome)
	if err != nil {
		return nil, err
	}
	k := m.kept[o.Name]
	delete(m.kept, o.Name)
	defer k.secrets.Wipe()
	return mls.Join(mlsEnv(), w, k.public, k.secrets, mls.JoinParams{})
}

// stageAdd adds members by their key packages as they came.
func stageAdd(g *mls.Group, packages [][]byte) (*mls.Staged, error) {
	var p mls.CommitParams
	for _, b := range packages {
		m, err := mls.ParseMessage(b)
		if err != nil {
			return nil, err
		}
		p.Proposals = append(p.Proposals, mls.AddProposal(m.KeyPackage))
	}
	return g.Stage(mlsEnv(), p)
}

// commit makes a commit and enters the epoch that it leads to.
func commit(g *mls.Group, p mls.CommitParams) ([]byte, error) {
	s, err := g.Stage(mlsEnv(), p)
	if err != nil {
		return nil, err
	}
	return s.Message.Append(nil), g.Merge(s)
}

// open takes what another made.
func open(g *mls.Group, b []byte) ([]byte, error) {
	m, err := mls.ParseMessage(b)
	if err != nil {
		return nil, err
	}
	r, err := g.Process(mlsEnv(), m)
	if err != nil {
		return nil, err
	}
	if r.Staged != nil {
		return nil, g.Merge(r.Staged)
	}
	return r.Application, nil
}

func (m *oursMLS) turn(o mlsOrder, w *mlsWord) error {
	from, to := m.members[o.From], m.members[o.To]
	if o.What == "open" {
		o.Least, o.Most = len(m.waiting), len(m.waiting)
		defer func() { m.waiting = nil }()
	}
	step := map[string]func(int) error{
		"create": func(int) error {
			g, err := m.found()
			if err != nil {
				return err
			}
			defer g.Drop()
			s, err := stageAdd(g, o.Packages)
			if err != nil {
				return err
			}
			w.Bytes = len(s.Message.Append(nil)) + len(s.Welcome.Append(nil))
			return g.Merge(s)
		},
		"add": func(i int) error {
			s, err := stageAdd(from, o.Packages[i%len(o.Packages):][:1])
			if err != nil {
				return err
			}
			w.Bytes = len(s.Message.Append(nil)) + len(s.Welcome.Append(nil))
			s.Drop()
			return nil
		},
		"commit": func(int) error {
			b, err := commit(from, mls.CommitParams{ForcePath: true})
			m.waiting, w.Bytes = append(m.waiting, b), len(b)
			return err
		},
		"encrypt": func(int) error {
			r, err := from.Reserve()
			if err != nil {
				return err
			}
			sealed, err := r.Seal(mlsEnv(), o.Content, mls.Framing{})
			if err != nil {
				return err
			}
			b := sealed.Append(nil)
			m.waiting, w.Bytes = append(m.waiting, b), len(b)
			return nil
		},
		"open": func(i int) (err error) {
			w.Content, err = open(to, m.waiting[i])
			return err
		},
	}[o.What]
	if step == nil {
		return fmt.Errorf("there is no turn %q", o.What)
	}
	return m.timed(o, w, step)
}

// timed does a step again and again for as long as the order says. What earlier
// turns left is collected first; what this one makes is its own affair.
func (m *oursMLS) timed(o mlsOrder, w *mlsWord, step func(int) error) error {
	runtime.GC()
	if o.Profile != "" {
		f, err := os.Create(o.Profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	used := ownTime()
	end := now() + int64(o.Ms*1e6)
	for i := 0; i < o.Most && (i < o.Least || now() < end); i++ {
		begun := now()
		if err := step(i); err != nil {
			return err
		}
		w.Each = append(w.Each, float64(now()-begun))
	}
	w.CPU = float64((ownTime() - used).Microseconds())
	return nil
}
