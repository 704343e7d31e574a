package budget

import (
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/lab/leak"
)

// count sums up what the relay saw of the device, a day's worth. The bubble speaks
// plain HTTP: for TLS, IP and TCP the model's constants are added to each
// connection and each piece, with the acknowledgement of a pong, and for nothing else.
func (w *town) count() (s Spending) {
	from, to := w.day, w.day+time.Duration(w.plan.days)*24*time.Hour
	for _, c := range w.wires.Trace().Conns {
		if c.Owner() != 0 {
			continue
		}
		if c.Opened >= from && c.Opened < to {
			s.connection(c)
		}
		for _, e := range c.Events {
			if e.At < from || e.At >= to {
				continue
			}
			switch e.Kind {
			case leak.PutCell:
				s.CellsUp++
			case leak.Delivered:
				s.CellsDown++
			case leak.Ping:
				s.Pings++
			case leak.Other:
				if c.Path == "/v1/take" && !e.In && e.Size == wire.ParkedSize {
					s.Taken++
				}
			}
		}
	}
	s.Down += s.Pings * segment
	s.PutTokens = float64(w.spent[transport.PayPut])
	s.WatchToken = float64(w.spent[transport.PayWatch])
	s.TakeTokens = float64(w.spent[transport.PayTake])
	s.OtherToken = float64(w.spent[transport.PayBlob] + w.spent[transport.PayWake] + w.spent[transport.PayInvite])
	s.scale(1 / float64(w.plan.days))
	return s
}

// connection counts one that was opened.
func (s *Spending) connection(c *leak.Conn) {
	switch c.Path {
	case "/v1/watch":
		s.Watches++
	case "/v1/put":
		s.Puts++
	case "/v1/take":
		s.Takes++
	case "/v1/realm":
		s.Looks++
	case "/v1/token":
		s.Batches++
	case "/v1/park":
		body := 0
		for _, e := range c.Events {
			if e.In {
				body += e.Size
			}
		}
		s.Parks += float64((body - wire.ContextSize) / wire.ParkItemSize)
	}
	bytes, pieces := c.Carried()
	s.Up += float64(tlsUp + bytes[0] + pieces[0]*(record+segment))
	s.Down += float64(tlsDown + bytes[1] + pieces[1]*(record+segment))
}

// rows returns everything that is counted, by name.
func (s *Spending) rows() []row {
	return []row{
		{"cells put", &s.CellsUp}, {"cells delivered", &s.CellsDown},
		{"watch connections", &s.Watches}, {"put connections", &s.Puts}, {"take connections", &s.Takes},
		{"rows parked", &s.Parks}, {"rows taken", &s.Taken}, {"looks at the descriptor", &s.Looks}, {"pings", &s.Pings},
		{"tokens: put, park", &s.PutTokens}, {"tokens: watch", &s.WatchToken}, {"tokens: take", &s.TakeTokens}, {"tokens: other", &s.OtherToken},
		{"batches of tokens", &s.Batches}, {"bytes up", &s.Up}, {"bytes down", &s.Down},
	}
}

type row struct {
	name string
	of   *float64
}

func (s *Spending) scale(f float64) {
	for _, r := range s.rows() {
		*r.of *= f
	}
}
