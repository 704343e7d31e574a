package relay

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/memory"
	"github.com/tacet-chat/tacet/relay/internal/sqlite"
)

// maxMarks is how many spent tokens are kept where there is no disk: 40 MiB.
const maxMarks = 1 << 20

// gateStores is where members and spent tokens are.
type gateStores struct {
	members gate.Members
	spent   gate.Spent
	disk    *sqlite.Gate // of both; nil if it is something else
}

func (s *gateStores) close(data string) error {
	if s.disk == nil {
		return nil
	}
	err := adviseGate(s.disk.Close(), data)
	s.disk = nil
	return err
}

// fillGate switches the role on that a gate implies.
func (c *Config) fillGate() {
	if c.Gate != string(gate.Open) && !slices.Contains(c.Roles, RoleToken) {
		c.Roles = append(slices.Clone(c.Roles), RoleToken)
	}
}

// checkGate says what is wrong with the keys of the gate.
func (c *Config) checkGate(bad func(keyName, hint string) error) error {
	switch {
	case !slices.Contains([]gate.Access{gate.Open, gate.ByInvite, gate.NobodyElse}, gate.Access(c.Gate)):
		return bad("gate", `gate is "open", "invite" or "closed"`)
	case c.Class != 1024 && c.Class != 4096 && c.Class != 16384:
		return bad("class", "class is 1024, 4096 or 16384")
	case c.MemberInvites < -1 || c.MemberInvites > 1000:
		return bad("member_invites", "member_invites goes from 1 to 1000; -1 is none")
	}
	return nil
}

// openGate opens the stores and the keeper over them, if tokens are wanted.
func (r *Relay) openGate() (err error) {
	if !r.has(RoleToken) {
		return nil
	}
	filed, err := readDay(r.cfg.Data)
	if err != nil {
		return err
	}
	if r.keeps, err = r.openGateStores(filed + 1); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	r.keeper, err = gate.NewKeeper(ctx, gate.KeeperConfig{
		Members: r.keeps.members, Spent: r.keeps.spent, Access: gate.Access(r.cfg.Gate), Class: r.cfg.Class, Invites: max(0, r.cfg.MemberInvites),
		Live: time.Duration(r.cfg.Period) * time.Second, Began: filed + 1, Limit: r.gate, Now: r.cfg.Now, Random: rand.Reader,
		Failed: r.gateFailed, Renewed: r.fileDay,
	})
	return adviseGate(err, r.cfg.Data)
}

// openGateStores opens what keeps members and spent tokens. A seed that is made
// now begins today, or at that day if it is later.
func (r *Relay) openGateStores(began gate.Day) (s gateStores, err error) {
	if r.shared.redis != nil {
		return gateStores{members: r.shared.db.Members(), spent: r.shared.redis}, nil
	}
	if r.cfg.Data == "" {
		m := memory.NewGate(maxMarks, rand.Reader)
		return gateStores{members: m, spent: m}, nil
	}
	return openGateFile(r.cfg.Data, began, gate.DayOf(r.cfg.Now()))
}

func openGateFile(data string, began, today gate.Day) (s gateStores, err error) {
	d, err := sqlite.OpenGate(filepath.Join(data, gateFile), max(began, today), today, rand.Reader)
	if err != nil {
		return s, adviseGate(err, data)
	}
	return gateStores{members: d, spent: d, disk: d}, nil
}

// readDay reads the day on which the last issuer seed began here, 0: there was
// none. It lies beside the stores, so that devices can be told that a seed is new
// where the store of the old one is gone altogether.
func readDay(data string) (gate.Day, error) {
	if data == "" {
		return 0, nil
	}
	path := filepath.Join(data, dayFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, advise(err, data)
	}
	text, ok := bytes.CutSuffix(b, []byte("\n"))
	day, err := strconv.ParseUint(string(text), 10, 24)
	if !ok || err != nil {
		return 0, &Problem{fmt.Errorf("%s is damaged", path), "write today's number of days since 1970 into it, such as " + strconv.Itoa(int(gate.DayOf(time.Now()))) + ": clients then take the new keys for tokens"}
	}
	return gate.Day(day), nil
}

// fileDay writes down on which day the seed began, before anybody is told.
func (r *Relay) fileDay(began gate.Day) error {
	filed, err := readDay(r.cfg.Data)
	if err != nil || filed == began {
		return err
	}
	if filed != 0 {
		r.log.Warn(eventSeed)
	}
	if r.cfg.Data == "" {
		return nil
	}
	return advise(writeNew(filepath.Join(r.cfg.Data, dayFile), fmt.Appendf(nil, "%d\n", began)), r.cfg.Data)
}

// gateFailed writes down that the store failed, and the sort of reason.
func (r *Relay) gateFailed(err error) {
	if c := cause(err); r.seldom.allow(eventGate+c, time.Now()) {
		r.log.Error(eventGate, "cause", c)
	}
}

// gateRoutes says who answers for members and tokens.
//
// spec: gate.md
func (r *Relay) gateRoutes(mux *http.ServeMux) {
	if r.keeper == nil {
		return
	}
	mux.HandleFunc("POST /v1/member", r.keeper.ServeJoin)
	mux.HandleFunc("POST /v1/member/invite", r.keeper.ServeInvite)
	mux.HandleFunc("POST /v1/token", r.keeper.ServeToken)
	mux.HandleFunc("POST /v1/puzzle", r.keeper.ServePuzzle)
}

// admitPark has cells that are to be parked paid by their put context.
func (r *Relay) admitPark(req *http.Request, id [wire.ContextSize]byte, rows int) (status int) {
	paid, status := r.keeper.Context(req, id)
	if status == 0 && !paid.Park(rows) {
		return http.StatusTooManyRequests
	}
	return status
}

// admitTake has a take connection paid.
func (r *Relay) admitTake(req *http.Request) (status int) {
	return r.keeper.Admit(req, token.Take, nil)
}

// admitWake has a wake ticket paid, or answers that it is not.
func (r *Relay) admitWake(w http.ResponseWriter, req *http.Request, ticket []byte) bool {
	sum := sha256.Sum256(ticket)
	status := r.keeper.Admit(req, token.Wake, sum[:])
	if status != 0 {
		gate.Refuse(w, status)
	}
	return status == 0
}

// announcement is a signed descriptor, and what it holds for.
type announcement struct {
	day, began gate.Day
	signed     []byte
}

// announced returns the signed descriptor. Where there are tokens it names other
// keys every day, and all others when the seed is new.
//
// spec: gate.md#issuer-keys
func (r *Relay) announced() ([]byte, error) {
	var now announcement
	d := r.says
	if r.keeper != nil {
		now.day, now.began = gate.DayOf(r.cfg.Now()), r.keeper.Began()
	}
	if a := r.descriptor.Load(); a != nil && a.day == now.day && a.began == now.began {
		return a.signed, nil
	}
	if r.keeper != nil {
		issuers, began, err := r.keeper.Announced()
		if err != nil {
			return nil, err
		}
		d.Issuers, d.IssuedDay, now.began = issuers, uint64(began), began
	}
	body := d.Encode()
	now.signed = wire.AppendSigned(nil, key.SignMessage(r.realm, wire.LabelDescriptor, body), body)
	r.descriptor.Store(&now)
	return now.signed, nil
}

// adviseGate says what an operator can do about the store of the gate.
func adviseGate(err error, data string) error {
	var p *Problem
	switch {
	case err == nil || errors.As(err, &p):
		return err
	case errors.Is(err, sqlite.ErrDamaged):
		return &Problem{err, "put a backup back with `tacet-relay restore`, or move gate.db and its companions out of " + data + ": then there are no members and invites, and everybody needs a new one"}
	case errors.Is(err, sqlite.ErrNewer):
		return &Problem{err, "a newer tacet-relay has used " + data + ": install that version again, or a newer one"}
	case errors.Is(err, sqlite.ErrOlder):
		return advise(err, data)
	case errors.Is(err, sqlite.ErrForeign):
		return &Problem{err, "gate.db in " + data + " belongs to another program: use another data directory"}
	}
	return advise(err, data)
}
