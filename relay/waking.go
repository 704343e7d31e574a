package relay

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/wake"
)

// eventPrivate is said at every start with wake_allow_private.
const eventPrivate = "wake_allow_private is on: whoever can reach this relay can have it connect to this machine and its networks"

// wakeName is the doctor's name for what is about waking.
const wakeName = "wake"

// Ports that a relay connects to where strangers name the host.
var (
	endpointPorts = []uint16{443}
	gatewayPorts  = []uint16{443, 7117}
)

// checkWake says what is wrong with what the configuration says of waking.
func (c *Config) checkWake(bad func(keyName, hint string) error) error {
	if c.WakeContact == "" {
		return nil
	}
	u, err := url.Parse(c.WakeContact)
	if err != nil || len(c.WakeContact) > 200 || !(u.Scheme == "mailto" && u.Opaque != "" || u.Scheme == "https" && u.Host != "") {
		return bad("wake_contact", `wake_contact is "mailto:you@relay.example" or an https URL, of at most 200 bytes`)
	}
	return nil
}

// openWake makes what wakes sleeping devices: every relay that carries cells
// passes tickets on, and one with the role opens those that are for it.
func (r *Relay) openWake() (err error) {
	if r.has(RoleWake) {
		r.gateway, err = wake.NewGateway(wake.GatewayConfig{
			Realm: r.realm, Data: r.cfg.Data, Contact: r.cfg.WakeContact, Roots: r.cfg.WakeRoots, Now: time.Now, Failed: r.wakeFailed,
			Dialer: &wake.Dialer{Ports: endpointPorts, Private: r.cfg.WakeAllowPrivate},
		})
		if err != nil {
			return advise(err, r.cfg.Data)
		}
	}
	if r.has(RoleLive) {
		r.forwarder = wake.NewForwarder(&wake.Dialer{Ports: gatewayPorts, Private: r.cfg.WakeAllowPrivate}, r.Fingerprint(), r.gateway, time.Now)
	}
	if r.cfg.WakeAllowPrivate {
		r.log.Warn(eventPrivate)
	}
	return nil
}

// describeWake says in the descriptor what tickets are sealed to.
func (r *Relay) describeWake(d *wire.Descriptor) {
	if r.gateway != nil {
		public := r.gateway.Public()
		d.Wake = public[:]
	}
}

// wakeFailed writes down that used tickets could not be noted, and the sort of
// reason.
func (r *Relay) wakeFailed(err error) {
	if c := cause(err); r.seldom.allow(eventSpent+c, time.Now()) {
		r.log.Error(eventSpent, "cause", c)
	}
}

const eventSpent = "used wake tickets could not be written down: after a restart each may wake its device once more"

// runWake runs both until ctx ends.
func (r *Relay) runWake(parts *group) {
	if r.gateway != nil {
		parts.run(r.gateway.Run)
	}
	if r.forwarder != nil {
		parts.run(r.forwarder.Run)
	}
}

// routeWake says who answers what about waking.
//
// spec: wake.md#asking
func (r *Relay) routeWake(mux *http.ServeMux) {
	if r.forwarder != nil {
		mux.HandleFunc("POST /v1/wake", r.limited(gate.Put, func(w http.ResponseWriter, req *http.Request) {
			r.forwarder.Serve(w, req, func(ticket []byte) bool { return r.admitWake(w, req, ticket) })
		}))
	}
	if r.gateway != nil {
		mux.HandleFunc("POST /v1/wake/open", r.limited(gate.Put, r.gateway.ServeOpen))
		mux.HandleFunc("POST /v1/wake/prove", r.limited(gate.Blob, r.gateway.ServeProve))
		mux.HandleFunc("POST /v1/wake/confirm", r.limited(gate.Blob, r.gateway.ServeConfirm))
	}
}

// limited counts a request under a limit of networks.
func (r *Relay) limited(what gate.What, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		release, ok := r.gate.Allow(gate.Peer(req.RemoteAddr), what)
		if !ok {
			http.Error(w, "over a limit", http.StatusTooManyRequests)
			return
		}
		defer release()
		next(w, req)
	}
}

// closeWake gives back what openWake took.
func (r *Relay) closeWake() error {
	if r.gateway == nil {
		return nil
	}
	err := r.gateway.Close()
	r.gateway = nil
	if err != nil {
		return fmt.Errorf("closing spent wake tickets: %w", err)
	}
	return nil
}

// checkWaking is the doctor's look at waking.
func checkWaking(cfg *Config) []Check {
	var out []Check
	if cfg.WakeAllowPrivate {
		out = append(out, Check{wakeName, Warn, "wake_allow_private is on: whoever can reach this relay can have it connect to this machine and its networks",
			"it is for tests, and for push services at home; else take it out"})
	}
	has := false
	for _, role := range cfg.Roles {
		has = has || role == RoleWake
	}
	switch {
	case has && cfg.TLS == "proxy":
		out = append(out, problem(wakeName, &Problem{errors.New("TLS ends in a program in front, so other relays cannot reach this gateway: they check the realm key"),
			"let TLS end in the relay, or take the role wake out"}))
	case has && cfg.WakeContact == "":
		out = append(out, Check{wakeName, Warn, "the role is on, and push services are not told whom to write to: some refuse that", `set wake_contact = "mailto:you@relay.example"`})
	case has:
		out = append(out, Check{wakeName, OK, "tickets are opened here; run this for people whose relay is somebody else's", ""})
	}
	return out
}
