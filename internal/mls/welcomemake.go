package mls

import "fmt"

const labelWelcome = "Welcome" // RFC 9420, Section 12.4.3.1

// welcomeParts is what a Welcome is made of.
type welcomeParts struct {
	joiner, psk Secret
	pskIDs      []PreSharedKeyID
	added       []addedLeaf
	path        *pathSecrets // nil for a commit without a path
	info        GroupInfoParams
}

// welcome makes the Welcome to the epoch of g, which the commit that it belongs to
// begins (RFC 9420, Sections 12.4.1 and 12.4.3.1).
func (g *Group) welcome(env Env, w welcomeParts) (*Message, error) {
	info, err := g.signGroupInfo(env, g.infoExtensions(w.info))
	if err != nil {
		return nil, fmt.Errorf("signing the group info: %w", err)
	}
	key, nonce := g.p.welcomeKey(w.joiner, w.psk)
	defer key.Wipe()
	sealed := g.p.seal(key, nonce, nil, info.append(nil))
	out := &Welcome{Suite: g.context.Suite, groupInfo: sealed}
	for _, a := range w.added {
		secrets := groupSecrets{Joiner: w.joiner.Bytes(), PSKs: w.pskIDs}
		if w.path != nil {
			s := w.path.common(a.at)
			if !s.Valid() {
				return nil, fail(ErrArgument, "12.4.3.1", "no path secret for a new member")
			}
			secrets.HasPath, secrets.PathSecret = true, s.Bytes()
		}
		plain := secrets.append(nil)
		c, err := g.p.encryptWithLabel(a.pkg.InitKey, labelWelcome, sealed, plain)
		clear(plain)
		if err != nil {
			return nil, err
		}
		out.secrets = append(out.secrets, encryptedSecrets{NewMember: a.pkg.ref(g.p), Secrets: c})
	}
	return &Message{Wire: WireWelcome, Welcome: out}, nil
}
