package mls

import (
	"crypto/rand"
	"encoding/json"
	"testing"
	"time"
)

// treeOfBytes reads a ratchet_tree extension.
func treeOfBytes(t testing.TB, p *suiteParams, b []byte) tree {
	t.Helper()
	nodes, err := parseNodes(b)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := treeOf(p, nodes)
	if err != nil {
		t.Fatal(err)
	}
	if got := appendNodes(nil, tr.nodes()); !equal(got, b) {
		t.Fatal("the nodes of the tree are not those it was made of")
	}
	return tr
}

func anybody(Credential, []byte) error { return nil }

func vectorTreeOperations(t *testing.T, raw json.RawMessage) {
	var v struct {
		Suite      Suite     `json:"cipher_suite"`
		Before     hexBytes  `json:"tree_before"`
		Proposal   hexBytes  `json:"proposal"`
		Sender     LeafIndex `json:"proposal_sender"`
		HashBefore hexBytes  `json:"tree_hash_before"`
		After      hexBytes  `json:"tree_after"`
		HashAfter  hexBytes  `json:"tree_hash_after"`
	}
	decode(t, raw, &v)
	tr := treeOfBytes(t, v.Suite.params(), v.Before)
	same(t, "hash before", tr.hash(), v.HashBefore)
	p, err := ParseProposal(v.Proposal)
	if err != nil {
		t.Fatal(err)
	}
	next := tr
	switch p.Type {
	case ProposalAdd:
		if next, _, err = tr.add(p.KeyPackage.Leaf); err != nil {
			t.Fatal(err)
		}
	case ProposalUpdate:
		next = tr.update(v.Sender, p.Leaf)
	case ProposalRemove:
		next = tr.remove(p.Removed)
	default:
		t.Fatalf("proposal of type %d", p.Type)
	}
	same(t, "tree after", appendNodes(nil, next.nodes()), v.After)
	same(t, "hash after", next.hash(), v.HashAfter)
	same(t, "tree before, afterwards", appendNodes(nil, tr.nodes()), v.Before)
}

func vectorTreeValidation(t *testing.T, raw json.RawMessage) {
	var v struct {
		Suite       Suite         `json:"cipher_suite"`
		Tree        hexBytes      `json:"tree"`
		GroupID     hexBytes      `json:"group_id"`
		Resolutions [][]NodeIndex `json:"resolutions"`
		Hashes      []hexBytes    `json:"tree_hashes"`
	}
	decode(t, raw, &v)
	tr := treeOfBytes(t, v.Suite.params(), v.Tree)
	if got, want := nodeWidth(tr.width()), uint32(len(v.Hashes)); got != want {
		t.Fatalf("got %d nodes, want %d", got, want)
	}
	for x, want := range v.Resolutions {
		got := tr.resolution(NodeIndex(x))
		if len(got) != len(want) {
			t.Fatalf("resolution of %d: got %v, want %v", x, got, want)
		}
		for k := range want {
			if got[k] != want[k] {
				t.Fatalf("resolution of %d: got %v, want %v", x, got, want)
			}
		}
		same(t, "tree hash", tr.hashOf(NodeIndex(x)), v.Hashes[x])
	}
	rules := leafRules{
		p: tr.p, now: time.Now(), authenticate: anybody,
		context: &GroupContext{Version: Version, Suite: v.Suite, GroupID: v.GroupID},
	}
	if err := tr.verify(rules); err != nil {
		t.Fatal(err)
	}
	rules.context = &GroupContext{Version: Version, Suite: v.Suite, GroupID: append(v.GroupID, 0)}
	if tr.verify(rules) == nil {
		t.Fatal("the tree is valid in another group")
	}
}

func vectorTreeKEM(t *testing.T, raw json.RawMessage) {
	var v struct {
		Suite     Suite    `json:"cipher_suite"`
		GroupID   hexBytes `json:"group_id"`
		Epoch     uint64   `json:"epoch"`
		Confirmed hexBytes `json:"confirmed_transcript_hash"`
		Tree      hexBytes `json:"ratchet_tree"`
		Leaves    []struct {
			Index      LeafIndex
			Encryption hexBytes `json:"encryption_priv"`
			Signature  hexBytes `json:"signature_priv"`
			Secrets    []struct {
				Node   NodeIndex
				Secret hexBytes `json:"path_secret"`
			} `json:"path_secrets"`
		} `json:"leaves_private"`
		Paths []struct {
			Sender    LeafIndex
			Path      hexBytes    `json:"update_path"`
			Secrets   []*hexBytes `json:"path_secrets"`
			Commit    hexBytes    `json:"commit_secret"`
			HashAfter hexBytes    `json:"tree_hash_after"`
		} `json:"update_paths"`
	}
	decode(t, raw, &v)
	tr := treeOfBytes(t, v.Suite.params(), v.Tree)
	context := func(tr tree) []byte {
		c := GroupContext{Version: Version, Suite: v.Suite, GroupID: v.GroupID, Epoch: v.Epoch, TreeHash: tr.hash(), ConfirmedTranscriptHash: v.Confirmed}
		return c.append(nil)
	}

	private := make(map[LeafIndex]*privateTree)
	signers := make(map[LeafIndex]Secret)
	for _, l := range v.Leaves {
		public, err := tr.p.hpkePublic(own(l.Encryption))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "key of a leaf", public, tr.leaf(l.Index).EncryptionKey)
		priv := newPrivateTree(l.Index, public, own(l.Encryption))
		for _, s := range l.Secrets {
			secret, public := tr.p.nodeKey(own(s.Secret))
			same(t, "key of a parent", public, tr.at(s.Node).encryptionKey())
			priv.put(s.Node, public, secret)
		}
		private[l.Index], signers[l.Index] = priv, own(l.Signature)
	}

	for _, u := range v.Paths {
		path, err := parse(u.Path, "path", readUpdatePath)
		if err != nil {
			t.Fatal(err)
		}
		next, err := tr.applyPath(u.Sender, path)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "tree hash after", next.hash(), u.HashAfter)
		for j, priv := range private {
			if j == u.Sender {
				continue
			}
			after, commit, err := next.openPath(priv, u.Sender, path, context(next), nil)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "commit secret", commit.Bytes(), u.Commit)
			// The vectors give the path secret that was opened: its key has to be there.
			nodes, _ := next.filteredPath(u.Sender)
			for len(nodes) > 0 && !j.Node().below(nodes[0]) {
				nodes = nodes[1:]
			}
			want, _ := tr.p.nodeKey(own(*u.Secrets[j]))
			same(t, "key of the path secret", after.get(nodes[0]).Bytes(), want.Bytes())
			after.wipe()
		}

		// A path of ours opens for everybody.
		next, secrets, own, err := tr.newPath(rand.Reader, u.Sender, func(key, parentHash []byte) (*LeafNode, error) {
			l := *tr.leaf(u.Sender)
			l.EncryptionKey, l.ParentHash, l.Source = key, parentHash, LeafCommit
			l.Signature, err = tr.p.signWithLabel(rand.Reader, signers[u.Sender], labelLeafNode, l.tbs(v.GroupID, u.Sender))
			return &l, err
		})
		if err != nil {
			t.Fatal(err)
		}
		made, err := next.sealPath(secrets, u.Sender, context(next), nil)
		if err != nil {
			t.Fatal(err)
		}
		if own.get(u.Sender.Node()).Equal(private[u.Sender].get(u.Sender.Node())) {
			t.Fatal("the leaf key did not change")
		}
		if made, err = parse(made.append(nil), "path", readUpdatePath); err != nil {
			t.Fatal(err)
		}
		applied, err := tr.applyPath(u.Sender, made)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "tree of receivers", appendNodes(nil, applied.nodes()), appendNodes(nil, next.nodes()))
		same(t, "tree hash of receivers", applied.hash(), next.hash())
		if err := applied.verifyParentHashes(); err != nil {
			t.Fatal(err)
		}
		for j, priv := range private {
			if j == u.Sender {
				continue
			}
			_, commit, err := applied.openPath(priv, u.Sender, made, context(applied), nil)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "commit secret of ours", commit.Bytes(), secrets.commit.Bytes())
		}
	}
}
