package braid

import (
	"crypto/hmac"
	"io"

	"github.com/tacet-chat/tacet/internal/key"
)

// phase is one of the eleven states of an epoch; the names are Signal's.
//
// spec: braid.md#states
type phase byte

const (
	// The end whose key it is.
	keysUnsampled     phase = 0 // nothing is done yet
	keysSampled       phase = 1 // sends the header
	headerSent        phase = 2 // sends the key, collects ct1
	ct1Received       phase = 3 // sends the key and that ct1 is here
	ekSentCt1Received phase = 4 // collects ct2
	// The end that encapsulates.
	noHeaderReceived     phase = 5  // collects the header
	headerReceived       phase = 6  // has it
	ct1Sampled           phase = 7  // sends ct1, collects the key
	ekReceivedCt1Sampled phase = 8  // sends ct1, has the key
	ct1Acknowledged      phase = 9  // collects the key
	ct2Sampled           phase = 10 // sends ct2
)

// kindOf is what a phase sends. keysUnsampled and headerReceived do not last
// until something is sent.
var kindOf = [...]kind{
	keysSampled: kindHdr, headerSent: kindEk, ct1Received: kindEkCt1Ack, ekSentCt1Received: kindCt1Ack,
	noHeaderReceived: kindNone, ct1Sampled: kindCt1, ekReceivedCt1Sampled: kindCt1, ct1Acknowledged: kindNone, ct2Sampled: kindCt2,
}

// contents is what a phase has; out and in are sizes in bytes, 0 for none.
var contents = [...]struct {
	seed, m, header, ek, ct1 bool
	out, in                  int
}{
	keysUnsampled:        {},
	keysSampled:          {seed: true, out: headerSize + macSize},
	headerSent:           {seed: true, out: ekSize, in: ct1Size},
	ct1Received:          {seed: true, ct1: true, out: ekSize},
	ekSentCt1Received:    {seed: true, ct1: true, in: ct2Size + macSize},
	noHeaderReceived:     {in: headerSize + macSize},
	headerReceived:       {header: true},
	ct1Sampled:           {m: true, header: true, out: ct1Size, in: ekSize},
	ekReceivedCt1Sampled: {m: true, header: true, ek: true, out: ct1Size},
	ct1Acknowledged:      {m: true, header: true, ct1: true, in: ekSize},
	ct2Sampled:           {out: ct2Size + macSize},
}

// sampleKeys makes a key and begins to send its header.
func (s *State) sampleKeys(rand io.Reader) error {
	if s.epoch == MaxEpoch {
		return ErrFull
	}
	seed, err := key.Generate[key.KEMRole](rand)
	if err != nil {
		return err
	}
	header, _ := split(seed)
	s.seed = seed
	s.out = encoder{data: append(header, s.auth.sum(labelHeader, s.epoch, header)...)}
	s.phase = keysSampled
	return nil
}

// sampleCt1 encapsulates to the header. From here on the epoch's key is known,
// and in use once the other side shows that it knows it, too.
func (s *State) sampleCt1(rand io.Reader) error {
	if s.epoch == MaxEpoch {
		return ErrFull
	}
	m, err := key.Generate[key.EncapsRole](rand)
	if err != nil {
		return err
	}
	ct1, ss := encapsulate1(s.header, m)
	k := epochKey(ss, s.epoch)
	defer k.Wipe()
	was := s.auth
	s.auth = was.next(k, s.epoch)
	was.wipe()
	s.addEpoch(k)
	s.m, s.out, s.in = m, encoder{data: ct1}, decoder{size: ekSize}
	s.phase = ct1Sampled
	return nil
}

// collect takes in one chunk of the epoch that is being agreed on. What the
// phase has no use for is late, or repeated, and ignored.
//
// spec: braid.md#receiving
func (s *State) collect(k kind, x uint16, c chunk) {
	switch {
	case s.phase == keysSampled && k == kindCt1: // the header is there
		_, ek := split(s.seed)
		s.out, s.in = encoder{data: ek}, decoder{size: ct1Size}
		s.phase = headerSent
	case s.phase == ct1Received && k == kindCt2: // the key is there
		s.out, s.in = encoder{}, decoder{size: ct2Size + macSize}
		s.phase = ekSentCt1Received
	}
	ack := k == kindEkCt1Ack
	switch {
	case s.phase == headerSent && k == kindCt1:
		if data := s.in.add(x, c); data != nil {
			s.ct1, s.in = data, decoder{}
			s.phase = ct1Received
		}
	case s.phase == ekSentCt1Received && k == kindCt2:
		if data := s.in.add(x, c); data != nil {
			s.finish(data)
		}
	case s.phase == noHeaderReceived && k == kindHdr:
		if data := s.in.add(x, c); data != nil {
			s.takeHeader(data)
		}
	case s.phase == ct1Sampled && (k == kindEk || ack):
		s.takeEk(x, c)
		if ack {
			s.acknowledged()
		}
	case s.phase == ct1Acknowledged && (k == kindEk || ack):
		s.takeEk(x, c)
	case s.phase == ekReceivedCt1Sampled && ack:
		s.sampleCt2(s.ek, s.out.data)
	}
}

// takeHeader checks and keeps the header of the other side's key. Chunks that do
// not fit together are dropped, all of them: the other side goes on sending.
func (s *State) takeHeader(data []byte) {
	header, mac := data[:headerSize:headerSize], data[headerSize:]
	if !hmac.Equal(s.auth.sum(labelHeader, s.epoch, header), mac) {
		s.in = decoder{size: headerSize + macSize}
		return
	}
	s.header, s.in = header, decoder{}
	s.phase = headerReceived
}

// takeEk collects the other side's key.
func (s *State) takeEk(x uint16, c chunk) {
	data := s.in.add(x, c)
	if data == nil {
		return
	}
	if !fits(s.header, data) {
		s.in = decoder{size: ekSize}
		return
	}
	if s.phase == ct1Acknowledged {
		s.sampleCt2(data, s.ct1)
		return
	}
	s.ek, s.in = data, decoder{}
	s.phase = ekReceivedCt1Sampled
}

// acknowledged is told that ct1 is with the other side.
func (s *State) acknowledged() {
	if s.phase == ekReceivedCt1Sampled {
		s.sampleCt2(s.ek, s.out.data)
		return
	}
	s.ct1, s.out = s.out.data, encoder{}
	s.phase = ct1Acknowledged
}

// sampleCt2 makes the second half of the ciphertext and begins to send it.
func (s *State) sampleCt2(ek, ct1 []byte) {
	ct2, ok := encapsulate2(s.header, ek, ct1, s.m)
	if !ok { // m, ct1 and header of a state that no run leads to
		s.ct1, s.ek, s.out, s.in = ct1, nil, encoder{}, decoder{size: ekSize}
		s.phase = ct1Acknowledged
		return
	}
	s.out = encoder{data: append(ct2, s.auth.sum(labelCiphertext, s.epoch, ct1, ct2)...)}
	s.in, s.header, s.ek, s.ct1 = decoder{}, nil, nil, nil
	s.m.Wipe()
	s.phase = ct2Sampled
}

// finish opens the ciphertext. If it is the one that the other side made, the
// epoch is complete and its key in use from our next message on.
func (s *State) finish(data []byte) {
	ct2, mac := data[:ct2Size], data[ct2Size:]
	k := epochKey(decapsulate(s.seed, s.ct1, ct2), s.epoch)
	defer k.Wipe()
	next := s.auth.next(k, s.epoch)
	if !hmac.Equal(next.sum(labelCiphertext, s.epoch, s.ct1, ct2), mac) {
		next.wipe()
		s.in = decoder{size: ct2Size + macSize}
		return
	}
	s.auth.wipe()
	s.auth = next
	s.addEpoch(k)
	s.seed.Wipe()
	s.ct1 = nil
	s.advance()
}

// advance begins the next epoch, with roles swapped.
func (s *State) advance() {
	s.chains.turnSend()
	s.out, s.in = encoder{}, decoder{}
	s.epoch++
	s.rest()
}
