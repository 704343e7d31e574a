package mlspeer

import "errors"

// actor is somebody, of either implementation.
type actor interface {
	kind() string
	key() ([]byte, error)                    // the public signature key
	keyPackage(suite uint16) ([]byte, error) // an MLSMessage
	addPSK(id, psk []byte) error
	create(groupID []byte, extensions ...Extension) (seat, error)
	join(welcome, tree []byte, from seat) (seat, error)
	joinExternal(info, tree []byte, old seat, psks ...[]byte) (seat, []byte, error) // in place of old, if any
	proposeAdd(info []byte) ([]byte, error)
	proposeExternal(info []byte, index uint32, p Proposal) ([]byte, error)
}

// seat is an actor's state of one group.
type seat interface {
	see() View
	propose(p Proposal, public bool, ad []byte) ([]byte, error)
	commit(o CommitOptions, path bool) (Commit, error) // of all that wait, but for the committer's own update
	merge() error
	process(m []byte) (Received, error)
	consider(commit []byte) error // and take another instead
	covered() int                 // how many proposals the last commit covered; -1 if it is not known
	encrypt(data, ad []byte, padding int) ([]byte, error)
	export(label string, context []byte, length int) ([]byte, error)
	groupInfo(tree bool) ([]byte, error)
	tree() ([]byte, error)
	reinit(n Next) (next seat, welcome, tree []byte, err error)
	branch(n Next) (next seat, welcome, tree []byte, err error)
	restore() error // as if started again
	drop()
}

// extensionType is one for private use that everybody supports.
const extensionType = 0xf0a1

// theirs is somebody in ts-mls.
type theirs struct{ *Client }

func (a theirs) kind() string                            { return "ts-mls" }
func (a theirs) key() ([]byte, error)                    { return a.Key, nil }
func (a theirs) keyPackage(suite uint16) ([]byte, error) { return a.KeyPackage(suite, extensionType) }
func (a theirs) addPSK(id, psk []byte) error             { return a.AddPSK(id, psk) }

func (a theirs) create(groupID []byte, extensions ...Extension) (seat, error) {
	return sit(a.Create(groupID, []uint16{extensionType}, extensions...))
}

func (a theirs) proposeAdd(info []byte) ([]byte, error) { return a.ProposeAdd(info, extensionType) }

func (a theirs) proposeExternal(info []byte, index uint32, p Proposal) ([]byte, error) {
	return a.ProposeExternal(info, index, p)
}

func (a theirs) join(welcome, tree []byte, from seat) (seat, error) {
	if from == nil {
		return sit(a.Join(welcome, tree, nil))
	}
	return sit(a.Join(welcome, tree, from.(*theirSeat).Group))
}

func (a theirs) joinExternal(info, tree []byte, old seat, psks ...[]byte) (seat, []byte, error) {
	if len(psks) > 0 {
		return nil, nil, errors.New("ts-mls joins from outside without pre-shared keys")
	}
	g, commit, err := a.JoinExternal(info, tree, old != nil, extensionType)
	s, err := sit(g, err)
	return s, commit, err
}

func sit(g *Group, err error) (seat, error) {
	if err != nil {
		return nil, err
	}
	return &theirSeat{g}, nil
}

type theirSeat struct{ *Group }

func (s *theirSeat) see() View { return s.View }

func (s *theirSeat) propose(p Proposal, public bool, ad []byte) ([]byte, error) {
	return s.Propose(p, public, ad)
}

// commit has a path only where one is required: ts-mls has no way to ask for one.
func (s *theirSeat) commit(o CommitOptions, _ bool) (Commit, error) { return s.Commit(o) }

func (s *theirSeat) merge() error                        { return s.Merge() }
func (s *theirSeat) process(m []byte) (Received, error)  { return s.Process(m) }
func (s *theirSeat) groupInfo(tree bool) ([]byte, error) { return s.GroupInfo(tree) }
func (s *theirSeat) tree() ([]byte, error)               { return s.Tree() }
func (s *theirSeat) restore() error                      { return s.Restore() }
func (s *theirSeat) drop()                               { s.Drop() }
func (s *theirSeat) encrypt(data, ad []byte, padding int) ([]byte, error) {
	return s.Encrypt(data, ad, padding)
}

func (s *theirSeat) export(label string, context []byte, length int) ([]byte, error) {
	return s.Export(label, context, length)
}

func (s *theirSeat) reinit(n Next) (seat, []byte, []byte, error) { return s.next(s.Reinit, n) }
func (s *theirSeat) branch(n Next) (seat, []byte, []byte, error) { return s.next(s.Branch, n) }

func (s *theirSeat) next(start func(Next) (*Group, []byte, []byte, error), n Next) (seat, []byte, []byte, error) {
	n.Supports = []uint16{extensionType}
	g, welcome, tree, err := start(n)
	next, err := sit(g, err)
	return next, welcome, tree, err
}

func (s *theirSeat) covered() int { return -1 }

// consider does nothing: ts-mls takes a commit at once.
func (s *theirSeat) consider([]byte) error { return nil }
