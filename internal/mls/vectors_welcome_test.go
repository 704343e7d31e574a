package mls

import (
	"encoding/json"
	"testing"
)

func vectorWelcome(t *testing.T, raw json.RawMessage) {
	var v struct {
		Init       hexBytes `json:"init_priv"`
		Signer     hexBytes `json:"signer_pub"`
		KeyPackage hexBytes `json:"key_package"`
		Welcome    hexBytes
	}
	decode(t, raw, &v)
	k := parseAs(t, v.KeyPackage, WireKeyPackage).KeyPackage
	w := parseAs(t, v.Welcome, WireWelcome).Welcome
	p := w.Suite.params()
	gs, err := w.open(p, k, &KeyPackageSecrets{Init: own(v.Init)})
	if err != nil {
		t.Fatal(err)
	}
	psk, err := gs.psk(testEnv(nil), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	info, err := w.openInfo(p, own(gs.Joiner), psk)
	if err != nil {
		t.Fatal(err)
	}
	if !p.verifyWithLabel(v.Signer, labelGroupInfo, info.tbs(nil), info.Signature) {
		t.Error("signature of the group info")
	}
	secrets := p.epochOf(own(gs.Joiner), psk, info.Context.append(nil))
	same(t, "confirmation tag", p.mac(secrets.confirmation, info.Context.ConfirmedTranscriptHash), info.ConfirmationTag)
}
