package wake

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
)

func wakeKey(t testing.TB, fill byte) key.Wake {
	t.Helper()
	k, err := key.New[key.WakeRole](bytes.Repeat([]byte{fill}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func gatewayKey(t testing.TB, fill byte) (key.XWing, key.XWingPublic) {
	t.Helper()
	k, err := key.New[key.XWingRole](bytes.Repeat([]byte{fill}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k, key.XWingPublicOf(k)
}

const endpoint = "https://push.example.net/p/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV"

// made returns a ticket of a device with secret 9.
func made(t testing.TB, id byte) *Ticket {
	t.Helper()
	out := &Ticket{Expires: 1_800_000_000, ID: [IDSize]byte{id}, Family: [FamilySize]byte{2}, MAC: NewProver(wakeKey(t, 3)).MAC(endpoint)}
	private, auth := PushKeys(wakeKey(t, 9), out.ID)
	out.Subscription = NewSubscription(endpoint, private, auth)
	return out
}

var gw = Gateway{Name: "gateway.example:7117", Realm: [32]byte{0xaa}}

func TestTicketComesBack(t *testing.T) {
	k, pub := gatewayKey(t, 1)
	for _, n := range []int{len("https://") + 1, 100, MaxEndpoint} {
		want := made(t, 1)
		want.Endpoint = "https://" + strings.Repeat("x", n-len("https://"))
		raw, err := Seal(pub, gw, want)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) != TicketSize {
			t.Errorf("got %d bytes, want %d", len(raw), TicketSize)
		}
		if g, err := ParseGateway(raw); err != nil || g != gw {
			t.Errorf("got %v, %v, want %v", g, err, gw)
		}
		if got, err := Open(k, raw); err != nil || got != *want {
			t.Errorf("endpoint of %d: got %v, %v", n, got, err)
		}
	}
}

func TestTicketIsRefused(t *testing.T) {
	k, pub := gatewayKey(t, 1)
	other, _ := gatewayKey(t, 2)
	raw, err := Seal(pub, gw, made(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(other, raw); !errors.Is(err, ErrTicket) {
		t.Errorf("another gateway's: got %v, want ErrTicket", err)
	}
	for _, i := range []int{0, 1, 2, 5, 2 + MaxName, headSize - 1, headSize, headSize + 1119, headSize + 1120, TicketSize - 1} {
		bad := bytes.Clone(raw)
		bad[i] ^= 1
		if _, err := Open(k, bad); !errors.Is(err, ErrTicket) {
			t.Errorf("byte %d changed: got %v, want ErrTicket", i, err)
		}
	}
	for name, b := range map[string][]byte{
		"nothing": nil, "short": raw[:TicketSize-1], "long": append(bytes.Clone(raw), 0),
		"no name":         append([]byte{1, 0}, raw[2:]...),
		"name too long":   append([]byte{1, MaxName + 1}, raw[2:]...),
		"name not padded": append([]byte{1, 5}, raw[2:]...),
	} {
		if _, err := ParseGateway(b); !errors.Is(err, ErrTicket) {
			t.Errorf("%s: got %v, want ErrTicket", name, err)
		}
	}
	inner := make([]byte, innerSize)
	good := made(t, 1)
	good.put(inner)
	if _, err := parseTicket(inner); err != nil {
		t.Fatal(err)
	}
	at := fixedSize - 2
	for name, change := range map[string]func([]byte){
		"endpoint over the end":    func(b []byte) { binary.BigEndian.PutUint16(b[at:], MaxEndpoint+1) },
		"endpoint shorter":         func(b []byte) { b[at+1]-- },
		"something after it":       func(b []byte) { b[innerSize-1] = 1 },
		"not https":                func(b []byte) { copy(b[at+2:], "http://x") },
		"a space":                  func(b []byte) { b[at+20] = ' ' },
		"a line break":             func(b []byte) { b[at+20] = '\n' },
		"no ASCII":                 func(b []byte) { b[at+20] = 0x80 },
		"a point not on the curve": func(b []byte) { b[at-AuthSize-1] ^= 1 },
	} {
		b := bytes.Clone(inner)
		change(b)
		if _, err := parseTicket(b); !errors.Is(err, ErrTicket) {
			t.Errorf("%s: got %v, want ErrTicket", name, err)
		}
	}
	for _, e := range []string{"", "https://", "http://a", "HTTPS://a", "https://a b", "https://" + strings.Repeat("x", MaxEndpoint)} {
		bad := *made(t, 1)
		bad.Endpoint = e
		if _, err := Seal(pub, gw, &bad); !errors.Is(err, ErrEndpoint) {
			t.Errorf("endpoint %q: got %v, want ErrEndpoint", e, err)
		}
	}
	for _, n := range []string{"", "A.example", "a.example/x", "u@a.example", "a b", "a?b", strings.Repeat("a", MaxName+1)} {
		if _, err := Seal(pub, Gateway{Name: n}, good); !errors.Is(err, ErrTicket) {
			t.Errorf("gateway %q: got %v, want ErrTicket", n, err)
		}
	}
	slash := bytes.Clone(raw)
	slash[3] = '/'
	if _, err := ParseGateway(slash); !errors.Is(err, ErrTicket) {
		t.Errorf("a slash in the name: got %v, want ErrTicket", err)
	}
}

func TestPushComesBack(t *testing.T) {
	secret := wakeKey(t, 9)
	for _, m := range []Message{{}, {Challenge: true, Code: [CodeSize]byte{1, 2, 3}}} {
		s := made(t, 1).Subscription
		body, err := Encrypt(&s, m, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if len(body) != PushSize {
			t.Errorf("got %d bytes, want %d", len(body), PushSize)
		}
		private, auth := PushKeys(secret, [IDSize]byte{1})
		if got, err := Decrypt(private, auth, body); err != nil || got != m {
			t.Errorf("got %v, %v, want %v", got, err, m)
		}
		private, auth = PushKeys(secret, [IDSize]byte{2})
		if _, err := Decrypt(private, auth, body); !errors.Is(err, ErrPush) {
			t.Errorf("with the keys of another ticket: got %v, want ErrPush", err)
		}
		for _, i := range []int{0, 17, 20, 21, 50, 86, PushSize - 1} {
			bad := bytes.Clone(body)
			bad[i] ^= 1
			private, auth := PushKeys(secret, [IDSize]byte{1})
			if _, err := Decrypt(private, auth, bad); !errors.Is(err, ErrPush) {
				t.Errorf("byte %d changed: got %v, want ErrPush", i, err)
			}
		}
	}
	for name, b := range map[string][]byte{
		"short": make([]byte, messageSize-1), "long": make([]byte, messageSize+1),
		"version": append([]byte{2, 1}, make([]byte, 62)...), "kind": append([]byte{1, 3}, make([]byte, 62)...),
		"a wake that says something": append([]byte{1, 1, 7}, make([]byte, 61)...),
		"not padded":                 append(append([]byte{1, 2}, make([]byte, 61)...), 1),
	} {
		if _, err := parseMessage(b); !errors.Is(err, ErrPush) {
			t.Errorf("%s: got %v, want ErrPush", name, err)
		}
	}
}

func TestProof(t *testing.T) {
	p, foreign := NewProver(wakeKey(t, 3)), NewProver(wakeKey(t, 4))
	const now = 1_800_000_000
	code := p.Code(now, endpoint)
	flipped := code
	flipped[39] ^= 1
	later := code
	later[7]++
	for name, c := range map[string]struct {
		by   *Prover
		code [CodeSize]byte
		at   uint64
		for_ string
		want bool
	}{
		"at once":              {p, code, now, endpoint, true},
		"at the end":           {p, code, now + CodeLife, endpoint, true},
		"too late":             {p, code, now + CodeLife + 1, endpoint, false},
		"before it was made":   {p, code, now - 1, endpoint, false},
		"for another endpoint": {p, code, now, endpoint + "x", false},
		"of another gateway":   {foreign, code, now, endpoint, false},
		"forged":               {p, flipped, now, endpoint, false},
		"another time":         {p, later, now + 300, endpoint, false},
		"none":                 {p, [CodeSize]byte{}, 0, endpoint, false},
	} {
		if got := c.by.CodeGood(c.code, c.at, c.for_); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	mac := p.MAC(endpoint)
	if !p.MACGood(mac, endpoint) || p.MACGood(mac, endpoint+"x") || foreign.MACGood(mac, endpoint) {
		t.Error("a MAC is good for its endpoint at its gateway, and else nowhere")
	}
	if bytes.Equal(mac[:], code[8:]) {
		t.Error("a code must not be a MAC")
	}
}

func TestRequestsAreRefused(t *testing.T) {
	s := made(t, 1).Subscription
	prove, err := (&Prove{WebPush, s}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	confirm, err := (&Confirm{Endpoint: endpoint}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	change := func(b []byte, i int, to byte) []byte {
		b = bytes.Clone(b)
		b[i] = to
		return b
	}
	for name, b := range map[string][]byte{
		"short": prove[1:], "long": append(bytes.Clone(prove), 0), "version": change(prove, 0, 2), "service": change(prove, 1, 3),
		"point": change(prove, 40, prove[40]^1), "padding": change(prove, ProveSize-1, 1), "length": change(prove, 84, prove[84]+1),
	} {
		if _, err := ParseProve(b); !errors.Is(err, ErrProof) {
			t.Errorf("prove, %s: got %v, want ErrProof", name, err)
		}
	}
	for name, b := range map[string][]byte{
		"short": confirm[1:], "long": append(bytes.Clone(confirm), 0), "padding": change(confirm, ConfirmSize-1, 1), "scheme": change(confirm, CodeSize+2, 'H'),
	} {
		if _, err := ParseConfirm(b); !errors.Is(err, ErrProof) {
			t.Errorf("confirm, %s: got %v, want ErrProof", name, err)
		}
	}
	if _, err := (&Prove{WebPush, Subscription{Endpoint: "ftp://x"}}).Append(nil); !errors.Is(err, ErrEndpoint) {
		t.Errorf("got %v, want ErrEndpoint", err)
	}
	if _, err := (&Confirm{}).Append(nil); !errors.Is(err, ErrEndpoint) {
		t.Errorf("got %v, want ErrEndpoint", err)
	}
}

func TestBatch(t *testing.T) {
	_, pub := gatewayKey(t, 1)
	var all [][]byte
	for i := range MaxBatch + 1 {
		raw, err := Seal(pub, gw, made(t, byte(i)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, raw)
	}
	for n := range MaxBatch + 1 {
		want := Batch{Forget: n%2 == 0, Expires: 7, Tickets: all[:n]}
		raw, err := want.Append(nil)
		if err != nil || len(raw) != 5+n*TicketSize {
			t.Fatalf("%d: got %d bytes, %v", n, len(raw), err)
		}
		got, err := ParseBatch(raw)
		if err != nil || got.Forget != want.Forget || got.Expires != 7 || len(got.Tickets) != n {
			t.Errorf("%d: got %v, %v", n, got, err)
		}
		for name, bad := range map[string][]byte{"cut off": raw[:len(raw)-1], "longer": append(bytes.Clone(raw), 0), "a bit between": append([]byte{raw[0] | 0x20}, raw[1:]...)} {
			if _, err := ParseBatch(bad); !errors.Is(err, ErrBatch) {
				t.Errorf("%d, %s: got %v, want ErrBatch", n, name, err)
			}
		}
	}
	for name, b := range map[string]*Batch{"too many": {Tickets: all}, "nothing": {}, "a short one": {Tickets: [][]byte{all[0][1:]}}} {
		if _, err := b.Append(nil); !errors.Is(err, ErrBatch) {
			t.Errorf("%s: got %v, want ErrBatch", name, err)
		}
	}
	if _, err := ParseBatch(append([]byte{1, 0, 0, 0, 0}, make([]byte, TicketSize)...)); !errors.Is(err, ErrBatch) {
		t.Errorf("a ticket that is none: got %v, want ErrBatch", err)
	}
}
