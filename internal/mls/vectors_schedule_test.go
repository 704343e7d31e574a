package mls

import (
	"encoding/json"
	"testing"
)

func vectorKeySchedule(t *testing.T, raw json.RawMessage) {
	var v struct {
		Suite   Suite    `json:"cipher_suite"`
		GroupID hexBytes `json:"group_id"`
		Init    hexBytes `json:"initial_init_secret"`
		Epochs  []struct {
			TreeHash      hexBytes `json:"tree_hash"`
			Commit        hexBytes `json:"commit_secret"`
			PSK           hexBytes `json:"psk_secret"`
			Confirmed     hexBytes `json:"confirmed_transcript_hash"`
			Context       hexBytes `json:"group_context"`
			Joiner        hexBytes `json:"joiner_secret"`
			Welcome       hexBytes `json:"welcome_secret"`
			Init          hexBytes `json:"init_secret"`
			SenderData    hexBytes `json:"sender_data_secret"`
			Encryption    hexBytes `json:"encryption_secret"`
			Exporter      hexBytes `json:"exporter_secret"`
			Authenticator hexBytes `json:"epoch_authenticator"`
			External      hexBytes `json:"external_secret"`
			Confirmation  hexBytes `json:"confirmation_key"`
			Membership    hexBytes `json:"membership_key"`
			Resumption    hexBytes `json:"resumption_psk"`
			ExternalPub   hexBytes `json:"external_pub"`
			Export        struct {
				Label   string
				Context hexBytes
				Length  int
				Secret  hexBytes
			} `json:"exporter"`
		}
	}
	decode(t, raw, &v)
	p := v.Suite.params()
	init := own(v.Init)
	for i, e := range v.Epochs {
		context := (&GroupContext{
			Version: Version, Suite: v.Suite, GroupID: v.GroupID, Epoch: uint64(i),
			TreeHash: e.TreeHash, ConfirmedTranscriptHash: e.Confirmed,
		}).append(nil)
		same(t, "group context", context, e.Context)
		joiner, psk := p.joinerSecret(init, own(e.Commit), context), own(e.PSK)
		same(t, "joiner_secret", joiner.Bytes(), e.Joiner)
		welcome := p.deriveSecret(p.memberSecret(joiner, psk), "welcome")
		same(t, "welcome_secret", welcome.Bytes(), e.Welcome)
		key, nonce := p.welcomeKey(joiner, psk)
		same(t, "welcome_key", key.Bytes(), p.expandWithLabel(e.Welcome, "key", nil, p.nk).Bytes())
		same(t, "welcome_nonce", nonce, p.expandWithLabel(e.Welcome, "nonce", nil, nn).Bytes())

		s := p.epochOf(joiner, psk, context)
		same(t, "sender_data_secret", s.senderData.Bytes(), e.SenderData)
		same(t, "encryption_secret", s.encryption.Bytes(), e.Encryption)
		same(t, "exporter_secret", s.exporter.Bytes(), e.Exporter)
		same(t, "epoch_authenticator", s.authenticator.Bytes(), e.Authenticator)
		same(t, "external_secret", s.external.Bytes(), e.External)
		same(t, "confirmation_key", s.confirmation.Bytes(), e.Confirmation)
		same(t, "membership_key", s.membership.Bytes(), e.Membership)
		same(t, "resumption_psk", s.resumption.Bytes(), e.Resumption)
		same(t, "init_secret", s.init.Bytes(), e.Init)
		_, public := p.externalKeyPair(s.external)
		same(t, "external_pub", public, e.ExternalPub)
		out, err := s.export(p, e.Export.Label, e.Export.Context, e.Export.Length)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "exporter", out.Bytes(), e.Export.Secret)

		// The secrets come back from what was written of them.
		again, err := parse(s.append(nil), "test", func(r *reader) *epochSecrets { return readEpochSecrets(r, p) })
		if err != nil {
			t.Fatal(err)
		}
		same(t, "state", again.append(nil), s.append(nil))
		init = s.init
	}
}

func vectorPSKSecret(t *testing.T, raw json.RawMessage) {
	var v struct {
		Suite Suite `json:"cipher_suite"`
		PSKs  []struct {
			ID    hexBytes `json:"psk_id"`
			PSK   hexBytes `json:"psk"`
			Nonce hexBytes `json:"psk_nonce"`
		} `json:"psks"`
		Secret hexBytes `json:"psk_secret"`
	}
	decode(t, raw, &v)
	var ids []PreSharedKeyID
	var psks []Secret
	for _, k := range v.PSKs {
		ids = append(ids, PreSharedKeyID{Type: PSKExternal, ID: k.ID, Nonce: k.Nonce})
		psks = append(psks, own(k.PSK))
	}
	got, err := v.Suite.params().pskSecret(ids, psks)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "psk_secret", got.Bytes(), v.Secret)
}

func vectorTranscriptHashes(t *testing.T, raw json.RawMessage) {
	var v struct {
		Suite        Suite    `json:"cipher_suite"`
		Confirmation hexBytes `json:"confirmation_key"`
		Content      hexBytes `json:"authenticated_content"`
		Before       hexBytes `json:"interim_transcript_hash_before"`
		Confirmed    hexBytes `json:"confirmed_transcript_hash_after"`
		Interim      hexBytes `json:"interim_transcript_hash_after"`
	}
	decode(t, raw, &v)
	p := v.Suite.params()
	a, err := parse(v.Content, "test", readAuthenticatedContent)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "authenticated_content", a.append(nil), v.Content)
	confirmed := p.confirmedHash(v.Before, a)
	same(t, "confirmed_transcript_hash", confirmed, v.Confirmed)
	tag := p.confirmationTag(&epochSecrets{confirmation: own(v.Confirmation)}, confirmed)
	same(t, "confirmation_tag", tag, a.Auth.ConfirmationTag)
	same(t, "interim_transcript_hash", p.interimHash(confirmed, tag), v.Interim)
}
