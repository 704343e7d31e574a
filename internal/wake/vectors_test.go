package wake

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"os"
	"strings"
	"testing"
)

// b64 is what the RFCs print: base64url.
type b64 []byte

func (b *b64) UnmarshalText(t []byte) (err error) {
	*b, err = base64.RawURLEncoding.Strict().DecodeString(string(t))
	return err
}

// vectors are the examples of the RFCs: numbers, with the place they stand at.
type vectors struct {
	RFC8291 struct {
		Plaintext  b64 `json:"plaintext"`
		ASPublic   b64 `json:"as_public"`
		ASPrivate  b64 `json:"as_private"`
		UAPublic   b64 `json:"ua_public"`
		UAPrivate  b64 `json:"ua_private"`
		Salt       b64 `json:"salt"`
		AuthSecret b64 `json:"auth_secret"`
		ECDHSecret b64 `json:"ecdh_secret"`
		IKM        b64 `json:"ikm"`
		Nonce      b64 `json:"nonce"`
		Body       b64 `json:"body"`
	} `json:"rfc8291"`
	RFC8188 []struct {
		Source    string `json:"source"`
		IKM       b64    `json:"ikm"`
		KeyID     string `json:"key_id"`
		Plaintext string `json:"plaintext"`
		Body      b64    `json:"body"`
	} `json:"rfc8188"`
	RFC8292 struct {
		Origin  string `json:"origin"`
		Expires int64  `json:"expires"`
		Subject string `json:"subject"`
		Token   string `json:"token"`
		Key     b64    `json:"key"`
	} `json:"rfc8292"`
}

func read(t testing.TB) (v vectors) {
	t.Helper()
	b, err := os.ReadFile("testdata/rfc.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func private(t testing.TB, b []byte) *ecdh.PrivateKey {
	t.Helper()
	k, err := ecdh.P256().NewPrivateKey(b)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestRFC8291Example(t *testing.T) {
	v := read(t).RFC8291
	values := 0
	same := func(name string, got, want []byte) {
		t.Helper()
		values++
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, want %x", name, got, want)
		}
	}
	as, ua := private(t, v.ASPrivate), private(t, v.UAPrivate)
	same("as_public", as.PublicKey().Bytes(), v.ASPublic)
	same("ua_public", ua.PublicKey().Bytes(), v.UAPublic)
	z, err := as.ECDH(ua.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	same("ecdh_secret", z, v.ECDHSecret)
	sub := NewSubscription("https://push.example.net/x", ua, [AuthSize]byte(v.AuthSecret))
	ikm, err := keyMaterial(as, ua.PublicKey(), sub.Auth, v.UAPublic, v.ASPublic)
	if err != nil {
		t.Fatal(err)
	}
	same("IKM", ikm, v.IKM)
	_, nonce := recordKeys(ikm, v.Salt)
	same("nonce", nonce[:], v.Nonce)
	body, err := encrypt(&sub, as, [saltSize]byte(v.Salt), v.Plaintext)
	if err != nil {
		t.Fatal(err)
	}
	same("body", body, v.Body)
	plain, err := decrypt(ua, sub.Auth, v.Body)
	if err != nil {
		t.Fatal(err)
	}
	same("plaintext", plain, v.Plaintext)
	t.Logf("RFC 8291, Section 5 and Appendix A: 1 example, %d values", values)
}

func TestRFC8188Examples(t *testing.T) {
	all := read(t).RFC8188
	for _, v := range all {
		c, err := parseCoding(v.Body)
		if err != nil {
			t.Fatalf("%s: %v", v.Source, err)
		}
		plain, err := c.open(v.IKM)
		if err != nil || string(plain) != v.Plaintext || string(c.keyID) != v.KeyID {
			t.Errorf("%s: got %q of %q, %v, want %q of %q", v.Source, plain, c.keyID, err, v.Plaintext, v.KeyID)
		}
	}
	if len(all) != 2 {
		t.Errorf("got %d examples, want 2", len(all))
	}
	t.Logf("RFC 8188, Section 3: %d examples", len(all))
}

// verify checks a VAPID token and returns what it says.
func verify(t testing.TB, token string, point []byte) string {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("a token has 3 parts, got %d", len(parts))
	}
	sig, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil || len(sig) != 64 {
		t.Fatalf("signature: got %d bytes, %v", len(sig), err)
	}
	pub, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(pub, hash[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])) {
		t.Error("the signature does not verify")
	}
	what, err := base64.RawURLEncoding.Strict().DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	return string(what)
}

func TestRFC8292Example(t *testing.T) {
	v := read(t).RFC8292
	verify(t, v.Token, v.Key) // ours reads theirs
	own := NewVAPID(wakeKey(t, 1), v.Subject)
	want := v.Token[:strings.LastIndexByte(v.Token, '.')]
	if got := own.signed(v.Origin, v.Expires); got != want {
		t.Errorf("what is signed: got %s, want %s", got, want)
	}
	// And ours is as theirs: the expiry is rounded and less than a day away.
	h, err := own.Authorization(v.Origin, 1453480000, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	token, found := strings.CutPrefix(h, "vapid t=")
	token, k, ok := strings.Cut(token, ", k=")
	if !found || !ok || k != own.Public() {
		t.Fatalf("got header %q", h)
	}
	point, err := base64.RawURLEncoding.Strict().DecodeString(k)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := verify(t, token, point), `{"aud":"https://push.example.net","exp":1453521600,"sub":"mailto:push@example.com"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	t.Log("RFC 8292, Section 2.4: 1 example")
}
