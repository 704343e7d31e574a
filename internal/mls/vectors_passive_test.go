package mls

import (
	"encoding/json"
	"errors"
	"testing"
)

// vectorPassive is a client that joins and follows what others do.
func vectorPassive(t *testing.T, raw json.RawMessage) {
	var v struct {
		Suite Suite `json:"cipher_suite"`
		PSKs  []struct {
			ID  hexBytes `json:"psk_id"`
			PSK hexBytes `json:"psk"`
		} `json:"external_psks"`
		KeyPackage    hexBytes `json:"key_package"`
		Signature     hexBytes `json:"signature_priv"`
		Encryption    hexBytes `json:"encryption_priv"`
		Init          hexBytes `json:"init_priv"`
		Welcome       hexBytes `json:"welcome"`
		Tree          hexBytes `json:"ratchet_tree"`
		Authenticator hexBytes `json:"initial_epoch_authenticator"`
		Epochs        []struct {
			Proposals     []hexBytes
			Commit        hexBytes
			Authenticator hexBytes `json:"epoch_authenticator"`
		}
	}
	decode(t, raw, &v)
	psks := map[string][]byte{}
	for _, p := range v.PSKs {
		psks[string(p.ID)] = p.PSK
	}
	env := testEnv(psks)
	k := parseAs(t, v.KeyPackage, WireKeyPackage).KeyPackage
	scalar := func(b []byte) Secret { // of suite 5, the files leave out zeros in front
		if v.Suite == SuiteP521AES256 {
			b = append(make([]byte, 66-len(b)), b...)
		}
		return own(b)
	}
	secrets := &KeyPackageSecrets{Init: scalar(v.Init), Encryption: scalar(v.Encryption), Signature: scalar(v.Signature)}
	checkHalves(t, k, secrets)
	g, err := Join(env, parseAs(t, v.Welcome, WireWelcome), k, secrets, JoinParams{Tree: v.Tree})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "initial epoch authenticator", g.EpochAuthenticator(), v.Authenticator)
	for i, e := range v.Epochs {
		for _, p := range e.Proposals {
			m, err := ParseMessage(p)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := g.Process(env, m); err != nil {
				t.Fatalf("epoch %d: proposal: %v", i, err)
			}
		}
		g = stored(t, g)
		m, err := ParseMessage(e.Commit)
		if err != nil {
			t.Fatal(err)
		}
		got, err := g.Process(env, m)
		if err != nil {
			t.Fatalf("epoch %d: commit: %v", i, err)
		}
		if err := g.Merge(got.Staged); err != nil {
			t.Fatal(err)
		}
		same(t, "epoch authenticator", g.EpochAuthenticator(), e.Authenticator)
		if _, err := g.Process(env, m); !errors.Is(err, ErrPastEpoch) {
			t.Fatalf("the same commit again: got %v, want %v", err, ErrPastEpoch)
		}
	}
}

// stored writes a group down and reads it back.
func stored(t *testing.T, g *Group) *Group {
	t.Helper()
	return storedIn(t, g, nil)
}

func storedIn(t *testing.T, g *Group, l *Lineage) *Group {
	t.Helper()
	back, err := ParseGroup(g.Append(nil), l)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "stored state", back.Append(nil), g.Append(nil))
	g.Drop()
	return back
}

// checkHalves checks that private and public keys of a key package belong together.
func checkHalves(t *testing.T, k *KeyPackage, secrets *KeyPackageSecrets) {
	t.Helper()
	p := k.Suite.params()
	init, err := p.hpkePublic(secrets.Init)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "init key", init, k.InitKey)
	encryption, err := p.hpkePublic(secrets.Encryption)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "encryption key", encryption, k.Leaf.EncryptionKey)
	signature, err := SignaturePublic(k.Suite, secrets.Signature)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "signature key", signature, k.Leaf.SignatureKey)
}
