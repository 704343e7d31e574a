package relay

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/relay/internal/acme"
)

// acmeDir is where certificates are kept, in the data directory.
const acmeDir = "acme"

// names returns what gets certificates for the names of a relay, nil if it has
// none.
func names(cfg *Config, failed func()) (*acme.Manager, error) {
	if len(cfg.Domain) == 0 {
		return nil, nil
	}
	c := acme.Config{Names: cfg.Domain, CA: cfg.ACMECA, Email: cfg.ACMEEmail, Dir: filepath.Join(cfg.Data, acmeDir), Failed: failed}
	if cfg.loopback() || cfg.ProxyProtocol {
		c.HTTPPort = -1 // what is asked there goes to somebody else
	}
	if cfg.ACMERoot != "" {
		b, err := os.ReadFile(cfg.ACMERoot)
		if err != nil {
			return nil, &Problem{fmt.Errorf("reading acme_root: %w", err), "name a file with certificates in PEM that this user can read"}
		}
		c.Roots = x509.NewCertPool()
		if !c.Roots.AppendCertsFromPEM(b) {
			return nil, &Problem{errors.New("acme_root has no certificate in it"), "name a file with certificates in PEM"}
		}
	}
	return acme.New(c), nil
}

// NameStatus is how it is with one name of the relay.
type NameStatus struct {
	Name  string `json:"name"`
	Days  int    `json:"days"` // for which its certificate is valid yet, 0: there is none
	Level Level  `json:"level"`
	Says  string `json:"says"`
	Hint  string `json:"hint,omitempty"`
}

// nameStatus puts a state into words. running says that somebody asks for what
// is missing.
func nameStatus(s acme.State, now time.Time, running bool) NameStatus {
	out := NameStatus{Name: s.Name, Level: OK}
	if left := s.Until.Sub(now); left > 0 {
		out.Days = int(left/(24*time.Hour)) + 1
	}
	has := fmt.Sprintf("%s: a certificate for %d more days", s.Name, out.Days)
	switch {
	case out.Days == 0 && s.Trouble != "":
		out.Level, out.Says, out.Hint = Fail, s.Name+": no certificate, "+s.Trouble, s.Hint
	case out.Days == 0 && running:
		out.Level, out.Says, out.Hint = Warn, s.Name+": no certificate yet, the authority is asked", "look again in a minute"
	case out.Days == 0 && !s.Until.IsZero():
		out.Level, out.Says, out.Hint = Fail, s.Name+": its certificate has ended", "start the relay: it asks for another"
	case out.Days == 0:
		out.Says = s.Name + ": a certificate will be asked for at the first start"
	case s.Trouble != "":
		out.Level, out.Says, out.Hint = Warn, has+", and renewing failed: "+s.Trouble, s.Hint
	case s.Late:
		out.Level, out.Says, out.Hint = Warn, has+", and it should have been renewed", "leave the relay running; it must be able to reach the authority"
	default:
		out.Says = has
	}
	return out
}

// nameStatuses tells how it is with every name of a running relay.
func (r *Relay) nameStatuses() []NameStatus {
	if r.certs == nil || r.certs.names == nil {
		return nil
	}
	var out []NameStatus
	now := time.Now()
	for _, s := range r.certs.names.States(now) {
		out = append(out, nameStatus(s, now, true))
	}
	return out
}

// lookupWithin bounds a question to DNS.
const lookupWithin = 3 * time.Second

// checkNames looks at every name: does it lead anywhere, and is there a
// certificate?
func checkNames(ctx context.Context, cfg *Config, running *Status) (checks []Check) {
	const name = "name"
	m, err := names(cfg, nil)
	if err != nil {
		return []Check{problem(name, err)}
	}
	if m == nil {
		return nil
	}
	var all []NameStatus
	if running != nil {
		all = running.Names
	} else {
		now := time.Now()
		for _, s := range m.Stored(now) {
			all = append(all, nameStatus(s, now, false))
		}
	}
	for _, s := range all {
		checks = append(checks, Check{name, s.Level, s.Says, s.Hint})
		lead := WhereLeads(ctx, s.Name)
		if len(lead.Missing) > 0 {
			lead.Hint += ": " + strings.Join(lead.Missing, "; ")
		}
		checks = append(checks, Check{name, lead.Level, lead.Says, lead.Hint})
	}
	if _, port, _ := strings.Cut(cfg.Listen[strings.LastIndexByte(cfg.Listen, ':'):], ":"); port != "443" && len(checks) > 0 {
		checks = append(checks, Check{name, OK, "the authority asks at port 443, and the relay listens on " + port, "whatever has port 443 must forward it as it is (docs/operate.md)"})
	}
	return checks
}
